import type { About } from '../about.js'

export const SWIFT_ABOUT: About = {
  is: 'windows that hold the delay at a target: one for the network, one for the receiving host',
  source:
    'Kumar et al., Swift: Delay is simple and effective for congestion control in the datacenter, SIGCOMM 2020',
  switches: '',
  host: '',
  loss: 'a loss or a timeout takes maxMdf of the window, at most once in a round trip; resetAfter timeouts in a row leave the smallest window',
  plainNetworks: { works: true, how: 'in a data centre; beside TCP on one queue it gives way' },
  foreignPeers: { works: true, how: 'their time to answer counts as delay of the network' },
}
