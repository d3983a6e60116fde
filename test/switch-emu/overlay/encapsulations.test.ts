/** Telemetry in one encapsulation, between processes joined by VXLAN; npm run test:long has the others. */
import t from 'tap'
import { checkEncapsulation, RECORDS } from '../../lab/encapsulations.js'

for (const [format, records] of RECORDS.slice(0, 1)) {
  t.test(format, t => checkEncapsulation(t, 'overlay', format, records))
}
