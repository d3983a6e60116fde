import type { About } from '../about.js'

export const RTTCC_ABOUT: About = {
  is: 'RTTCC: round trips of probes, which the NIC answers at once, move the rate',
  source: 'NVIDIA, Scaling Zero Touch RoCE technology with round trip time congestion control, 2021',
  switches: '',
  host: '',
  loss: 'a loss leaves lossBeta of a bound on the window, at most once in a round trip; a timeout leaves one packet, and the bound doubles up to the threshold; also in flows that begin at line rate',
  plainNetworks: {
    works: true,
    how: 'round trips of probes move it; beside TCP, which fills the queue, it gives way',
  },
  foreignPeers: { works: false, how: 'nobody answers its probes, so cubic takes over' },
}
