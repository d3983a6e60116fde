import t from 'tap'
import { dataOverheadBytes, headerSlotBytes } from '../../lib/scenario/model/wire-sizes.js'

// RFC 8200: 40 bytes instead of 20. IBA: AETH 4. Between Weir hosts: a SACK's bitmap 32, time stamps 16, a
// tag 16.
const BESIDE = 40 - 20 + 4 + 32 + 16 + 16

t.test('the slot of a frame without payload holds the longest packet with telemetry of all hops', async t => {
  for (const format of ['wide', 'p4-int-md', 'ifa', 'ioam'] as const) {
    for (let hops = 1; hops <= 15; hops++) {
      const longest = dataOverheadBytes({ format, hops }, hops) + BESIDE
      t.ok(headerSlotBytes({ format, hops }) >= longest, `${format}, ${hops} hops: ${longest} bytes`)
    }
  }
})
