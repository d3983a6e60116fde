import type { About } from '../about.js'

export const SWIFT_ABOUT: About = {
  is: 'Swift: windows follow a target delay, of the network and of the receiving host apart',
  source: 'Kumar et al., SIGCOMM 2020',
  switches: '',
  host: '',
  loss: 'a loss or a timeout leaves 1 - maxMdf of the window, at most once in a round trip; resetAfter timeouts in a row leave the smallest',
  plainNetworks: { works: true, how: 'round trips move it; beside TCP, which fills the queue, it gives way' },
  foreignPeers: { works: true, how: 'the delay of the peer counts as that of the network' },
}
