import type { About } from '../about.js'

export const ROCC_ABOUT: About = {
  is: 'RoCC: each switch port works out one fair rate for the flows in its queue, and sends it to their sources',
  source: 'Taheri et al., RoCC: Robust Congestion Control for RDMA, CoNEXT 2020',
  switches: 'work out fair rates (`rocc`)',
  host: '',
  loss: 'a loss leaves lossBeta of what was in flight as a window, at most once in a round trip; a timeout leaves one packet, and slow start follows; also in flows that begin at line rate',
  plainNetworks: { works: true, how: 'only losses slow it down; many flows drop more than with cubic' },
  foreignPeers: { works: true, how: 'as receivers' },
}
