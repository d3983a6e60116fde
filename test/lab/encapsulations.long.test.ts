/** Telemetry in every encapsulation on veth, where the kernel sees the packets too. */
import t from 'tap'
import { checkEncapsulation, RECORDS } from './encapsulations.js'
import { noLabs } from './support.js'

const skip = noLabs()

for (const [format, records] of RECORDS) {
  t.test(format, { skip }, t => checkEncapsulation(t, 'veth', format, records))
}
