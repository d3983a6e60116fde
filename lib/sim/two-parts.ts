import type { Station } from './station.js'

/**
 * Divides stations into two parts, so that each link leads from one of them to the other; those without links are in neither. Where there
 * is a way around over an odd number of links, all that have links are in the first part.
 */
export function inTwoParts(stations: readonly Station[]): {
  parts: [Station[], Station[]]
  apart: Station[]
} {
  const linked = stations.filter(isLinked)
  const apart = stations.filter(station => !isLinked(station))
  const partOf = new Map<Station, 0 | 1>()
  for (const start of linked) {
    if (partOf.has(start)) continue
    partOf.set(start, 0)
    const found = [start]
    for (const station of found) {
      const across = partOf.get(station) === 0 ? 1 : 0
      for (const pipe of station.out) {
        if (pipe === null) continue
        const neighbour = stations[pipe.toNode]!
        if (partOf.get(neighbour) === partOf.get(station)) return { parts: [linked, []], apart }
        if (partOf.has(neighbour)) continue
        partOf.set(neighbour, across)
        found.push(neighbour)
      }
    }
  }
  const part = (wanted: 0 | 1) => linked.filter(station => partOf.get(station) === wanted)
  return { parts: [part(0), part(1)], apart }
}

function isLinked({ into, out }: Station): boolean {
  return into.length > 0 || out.length > 0
}
