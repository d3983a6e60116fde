import type { About } from '../about.js'

export const AUTO_ABOUT: About = {
  is: 'the default of daemons: hpcc where switches write telemetry, cubic elsewhere',
  source: null,
  switches: '',
  host: '',
  loss: 'that of the controller in force',
  plainNetworks: { works: true, how: 'as cubic' },
  foreignPeers: { works: true, how: 'as cubic' },
}
