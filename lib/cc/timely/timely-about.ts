import type { About } from '../about.js'

export const TIMELY_ABOUT: About = {
  is: 'a rate that follows the gradient of the round trip',
  source:
    'Mittal et al., TIMELY: RTT-based congestion control for the datacenter, SIGCOMM 2015; patch: Zhu et al., ECN or delay, CoNEXT 2016',
  switches: '',
  host: 'sends packets at their time',
  loss: 'a loss leaves lossBeta of what was in flight, at most once in a round trip; a timeout leaves one packet, and slow start follows',
  plainNetworks: {
    works: true,
    how: 'queues of tens to hundreds of us; patched flows become equal, others rest at any mix of rates; beside TCP on one queue it takes nearly nothing or nearly all',
  },
  foreignPeers: { works: true, how: 'their time to answer counts as delay of the network' },
}
