import type { TrafficModel } from './traffic-models.js'

/** Made by `npm run bench -- ai-ecn-train --seed 1 --write`. Coordinates: throughput, delay, largeShare, flows, ingressPorts. */
export const TRAFFIC_MODELS: readonly TrafficModel[] = [
  {
    name: 'mice',
    centroid: [0.703, 0.137, 0.735, 0.53, 0.398],
    radius: 0.591,
    kminNs: 250,
    kmaxNs: 250,
    pmax: 1,
  },
  {
    name: 'elephants',
    centroid: [0.686, 0.171, 0.986, 0.243, 0.322],
    radius: 0.602,
    kminNs: 8000,
    kmaxNs: 8000,
    pmax: 1,
  },
  {
    name: 'incast',
    centroid: [0.779, 0.843, 0.761, 0.522, 0.653],
    radius: 0.349,
    kminNs: 8000,
    kmaxNs: 8000,
    pmax: 1,
  },
]
