import type { About } from '../about.js'
import { HPCC_ABOUT } from '../hpcc/hpcc-about.js'

export const FNCC_ABOUT: About = {
  is: 'FNCC: HPCC++ on telemetry that switches write into acknowledgements, with a speedup at the last hop',
  source:
    'Xu et al., FNCC: Fast Notification Congestion Control in Data Center Networks, 2024; sections 4.1 and 4.3: draft-miao-rtgwg-hpccplus-02',
  switches: 'write telemetry of the data into acknowledgements, which take the way of the data',
  host: '',
  loss: HPCC_ABOUT.loss,
  plainNetworks: HPCC_ABOUT.plainNetworks,
  foreignPeers: { works: false, how: 'their acknowledgements collect nothing, so hpcc takes over' },
}
