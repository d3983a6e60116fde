/** Every mode of HPCC++ on veth: exact bytes, and feedback that hosts believe. */
import t from 'tap'
import { checkModes, DIRECT } from './modes.js'
import { noLabs } from './support.js'

const skip = noLabs()
const KEY = ', key: correct horse battery staple'

t.test('probes, and some of the packets', { skip }, t =>
  checkModes(t, [
    { name: 'probes', telemetry: 'collect: probe' },
    { name: 'subset', telemetry: 'everyPackets: 8' },
  ]),
)

t.test('notifications, windows of the receiver', { skip }, t =>
  checkModes(t, [
    { name: 'notify', telemetry: 'everyPackets: 4, answer: notify' },
    { name: 'receiver', cc: 'rx-hpcc' },
  ]),
)

t.test('direct responses, and both ends with a key', { skip }, t =>
  checkModes(t, [
    { name: 'direct', s1: DIRECT },
    { name: 'keyed', cc: 'rx-hpcc', s1: DIRECT, transport: KEY },
  ]),
)
