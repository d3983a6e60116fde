/** With PFC an incast far beyond the path's capacity loses nothing: senders are paused, in every place. */
import { sum, testIncast } from './incast.js'
import type { Where } from './run-on.js'

export const lossless = (...on: Where[]) =>
  testIncast(on, 'buffer: 1MB, pfc: { xoff: 20KB }', (t, { on: where, ports, flows }) => {
    t.equal(sum(ports.map(({ drops }) => drops)), 0, 'nothing is lost')
    t.ok(sum(ports.map(({ pausesSent }) => pausesSent)) > 0, 'senders are paused')
    // In real time a host may not run for longer than the timeout.
    if (where === 'virtual') t.equal(sum(flows.map(({ timeouts }) => timeouts)), 0)
  })
