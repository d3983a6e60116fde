import type { About } from '../about.js'

export const TIMELY_ABOUT: About = {
  is: 'TIMELY: the gradient of round trips moves the rate',
  source: 'Mittal et al., SIGCOMM 2015',
  switches: '',
  host: '',
  loss: 'a loss leaves lossBeta of a bound on the window, at most once in a round trip; a timeout leaves one packet, and the bound doubles up to the threshold; also in flows that begin at line rate',
  plainNetworks: { works: true, how: 'round trips move it; beside TCP, which fills the queue, it gives way' },
  foreignPeers: { works: true, how: 'round trips then contain the time that the peer takes to answer' },
}
