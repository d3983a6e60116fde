/** With PFC an incast far over what the path holds loses nothing: senders are paused, everywhere alike. */
import { sum, testIncast } from './incast.js'
import type { Where } from './run-on.js'

export const lossless = (...on: Where[]) =>
  testIncast(on, 'buffer: 1MB, pfc: { xoff: 20KB }', (t, { on: where, ports, flows }) => {
    t.equal(sum(ports.map(({ drops }) => drops)), 0, 'nothing is lost')
    t.ok(sum(ports.map(({ pausesSent }) => pausesSent)) > 0, 'senders are paused')
    // In real time a host may stand still for longer than the timeout.
    if (where === 'virtual') t.equal(sum(flows.map(({ timeouts }) => timeouts)), 0)
  })
