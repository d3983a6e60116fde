/** Telemetry in every encapsulation, between processes joined by VXLAN. */
import t from 'tap'
import { checkEncapsulation, RECORDS } from '../../lab/encapsulations.js'

for (const [format, records] of RECORDS) {
  t.test(format, t => checkEncapsulation(t, 'overlay', format, records))
}
