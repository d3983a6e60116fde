/** Wireshark's reading of captures of runs in real time, which contain every byte. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { runVeth } from '../../switch-emu/lab/run-veth.js'
import { runOverlay } from '../../switch-emu/overlay/run-overlay.js'
import { noLabs } from '../lab/support.js'
import { compare, LUA, noTshark, tshark, twoSenders } from '../support/tshark.js'

const skip = noTshark

t.test('an overlay run: every byte is there, the ICRC too', { skip }, async t => {
  const folder = t.testdir({})
  await runOverlay(twoSenders('real', '100Mbps', '{format: wide, hops: 5}'), { captures: { folder } })
  const path = join(folder, 's1--s2.pcapng')
  const seen = compare(t, path)
  t.ok(seen.withHops > 190, `${seen.withHops} packets with hop records`)
  t.same(tshark(path, ['frame.number'], 'frame.cap_len != frame.len'), [])
  // The field itself, 4 bytes at the packet's end: from the detailed output of the last data packet.
  const pdml = execFileSync(
    'tshark',
    [
      '-n',
      '-X',
      `lua_script:${LUA}`,
      '-r',
      path,
      '-Y',
      'infiniband.bth.opcode == 7',
      '-T',
      'pdml',
      '-c',
      '200',
    ],
    { encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] },
  )
  const crcs = [...pdml.matchAll(/<field name="infiniband.invariant.crc"[^>]* size="(\d+)"/g)]
  t.ok(crcs.length > 0 && crcs.every(match => match[1] === '4'), `${crcs.length} ICRCs of 4 bytes`)
})

t.test('a run on veth: real packets, and no others', { skip: skip || noLabs() }, async t => {
  const folder = t.testdir({})
  await runVeth(twoSenders('veth', '100Mbps', '{format: wide, hops: 5}'), { captures: { folder } })
  const path = join(folder, 's1--s2.pcapng')
  const seen = compare(t, path)
  t.ok(seen.withHops > 100, `${seen.withHops} packets with hop records`)
  t.same(tshark(path, ['frame.number'], 'frame.cap_len != frame.len || !infiniband.bth'), [])
})
