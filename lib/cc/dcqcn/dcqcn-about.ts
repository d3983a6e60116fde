import type { About } from '../about.js'

export const DCQCN_ABOUT: About = {
  is: 'DCQCN, as RoCEv2 NICs have it: CNPs cut the rate, a timer and a byte counter raise it',
  source: 'Zhu et al., SIGCOMM 2015',
  switches: 'mark packets (ECN)',
  host: '',
  loss: 'a loss leaves lossBeta of a bound on the window, at most once in a round trip; a timeout leaves one packet, and the bound doubles up to the threshold; also in flows that begin at line rate',
  plainNetworks: {
    works: true,
    how: 'without marks the bound that losses move, as Reno, is all that holds it',
  },
  foreignPeers: { works: true, how: 'their NICs send CNPs at an interval of their own' },
}
