import type { About } from '../about.js'

export const TIMELY_ABOUT: About = {
  is: 'a rate that follows the gradient of the round trip',
  source: 'Mittal et al., TIMELY: RTT-based congestion control for the datacenter, SIGCOMM 2015',
  switches: '',
  host: 'sends packets at their time',
  loss: 'a loss leaves lossBeta of what was in flight, at most once in a round trip; a timeout leaves one packet, and slow start follows',
  plainNetworks: {
    works: true,
    how: 'queues of tens to hundreds of us; rates become equal slowly or not at all',
  },
  foreignPeers: { works: true, how: 'their time to answer counts as delay of the network' },
}
