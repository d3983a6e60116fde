/** Captures of virtual runs, all of whose packets Wireshark must understand. */
import { join } from 'node:path'
import t from 'tap'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { isLong } from '../support/long.js'
import { noTshark, tshark, twoSenders } from '../support/tshark.js'

/** Packets that tshark reports as malformed in its summary or its details. */
function malformedIn(path: string, lua: boolean): string[][] {
  const columns = tshark(path, ['_ws.col.Info', '_ws.malformed', ...(lua ? ['weir.malformed'] : [])], '', lua)
  return columns.filter(([info, ...marks]) => /malformed/i.test(info!) || marks.some(mark => mark !== ''))
}

/** Tests a run by that controller, with whole and with cut packets. */
export function testWhole(cc: string): void {
  t.test(
    `no packet of a run by ${cc} is malformed to Wireshark, with our script and without`,
    { skip: noTshark },
    async t => {
      const folder = t.testdir({})
      const path = join(folder, 's1--s2.pcapng')
      // A controller that uses no telemetry refuses settings of it.
      const int = cc.includes('fixed-window') ? '' : '{format: wide, hops: 5}'
      const scenario = twoSenders('whole', '1Gbps', int, `cc: ${cc}`)
      new VirtualRun(scenario, { captures: { folder } }).run()
      t.same(malformedIn(path, false), [], 'without')
      t.same(malformedIn(path, true), [], 'with')
      // Without the script Wireshark reports cut packets as malformed. With it they are reported as captured
      // in part.
      for (const snapBytes of isLong ? [64, 100] : [64]) {
        new VirtualRun(scenario, { captures: { folder, snapBytes } }).run()
        t.same(malformedIn(path, true), [], `with, cut to ${snapBytes} bytes`)
      }
    },
  )
}
