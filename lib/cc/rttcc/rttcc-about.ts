import type { About } from '../about.js'

export const RTTCC_ABOUT: About = {
  is: 'a rate that follows the round trip of probes, for Zero Touch RoCE; the formula is of Weir',
  source: 'NVIDIA, Scaling Zero Touch RoCE technology with round trip time congestion control, 2021',
  switches: '',
  host: 'sends packets at their time',
  loss: 'a loss leaves lossBeta of what was in flight, at most once in a round trip; a timeout leaves one packet, and slow start follows',
  plainNetworks: { works: true, how: 'for flows of many round trips; beside TCP on one queue it gives way' },
  foreignPeers: { works: true, how: 'nobody answers probes, and cubic takes over' },
}
