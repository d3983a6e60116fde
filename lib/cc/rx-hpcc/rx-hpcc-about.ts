import type { About } from '../about.js'
import { CAPPED_LOSS } from '../hpcc/hpcc-about.js'

export const RX_HPCC_ABOUT: About = {
  is: 'HPCC++ at the receiver, which works out the windows and sends them',
  source: 'draft-miao-rtgwg-hpccplus-02, section on receiver-based HPCC',
  switches: 'write telemetry into data packets',
  host: '',
  loss: CAPPED_LOSS,
  plainNetworks: { works: false, how: 'without telemetry the receiver has no window to send' },
  foreignPeers: { works: false, how: 'nobody works out windows, nor returns telemetry to hpcc' },
}
