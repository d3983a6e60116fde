/** Without PFC the same incast overflows the queue, and lost packets are retransmitted, in every place. */
import { sum, testIncast } from './incast.js'
import type { Where } from './run-on.js'

export const lossy = (...on: Where[]) =>
  testIncast(on, 'buffer: 60KB', (t, { ports, flows }) => {
    t.ok(sum(ports.map(({ drops }) => drops)) > 0, 'the queue overflows')
    t.equal(sum(ports.map(({ pausesSent }) => pausesSent)), 0)
    t.ok(sum(flows.map(({ retransmittedBytes }) => retransmittedBytes)) > 0)
  })
