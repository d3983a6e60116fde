import type { About } from '../about.js'

export const CUBIC_ABOUT: About = {
  is: 'CUBIC, as the TCP of most hosts, with HyStart++, PRR, pacing and classic ECN',
  source: 'RFC 9438; HyStart++: RFC 9406; PRR: RFC 9937; ECN: RFC 3168 and RFC 8511',
  switches: '',
  host: '',
  loss: 'a loss leaves beta of the window, at most once in a round trip; a timeout leaves one packet, and slow start follows. Taken back if nothing was lost',
  plainNetworks: { works: true, how: 'losses and marks move the window' },
  foreignPeers: { works: true, how: 'their CNPs count as marks' },
}
