import type { About } from '../about.js'

export const DCTCP_ABOUT: About = {
  is: 'DCTCP: the share of marked bytes reduces the window, which grows as Reno',
  source: 'RFC 8257; Alizadeh et al., SIGCOMM 2010',
  switches: 'mark packets (ECN) above one threshold',
  host: '',
  loss: 'a loss leaves beta of the window, at most once in a round trip; a timeout leaves one packet, and slow start follows',
  plainNetworks: { works: true, how: 'without marks it is Reno, paced' },
  foreignPeers: { works: true, how: 'a CNP counts as if all of the round trip had been marked' },
}
