import type { About } from '../about.js'

export const AUTO_ABOUT: About = {
  is: 'the default of daemons: hpcc where switches write telemetry, dcqcn towards other RoCEv2 hosts that answer marks by CNPs, cubic elsewhere',
  source: null,
  switches: '',
  host: '',
  loss: 'that of the controller in force',
  plainNetworks: { works: true, how: 'as cubic' },
  foreignPeers: { works: true, how: 'as cubic until a CNP comes, then as dcqcn' },
}
