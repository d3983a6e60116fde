/** An acknowledgement in a packet with payload, byte by byte, as in the comment of lib/wire/weir/carried-ack.ts. */
import t from 'tap'
import * as aeth from '../../lib/wire/ib/aeth.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import { printFrame } from '../../lib/wire/print.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import * as telemetry from '../../lib/wire/telemetry/telemetry.js'
import * as carriedAck from '../../lib/wire/weir/carried-ack.js'
import { buildRoce, PLAIN } from './helpers.js'

const SHAPE = { ...PLAIN, opcode: Opcode.RC_SEND_ONLY, payloadBytes: 64 }
const COMPACT = { ...SHAPE, format: intShim.FORMAT_COMPACT, slots: 1, flags: intShim.FLAG_ECHO }

t.test('bytes', async t => {
  const frame = buildRoce(COMPACT)
  t.equal(parseFrame(frame), WireError.OK)
  const { bth, shim } = frame
  frame.payload = shim
  t.equal(carriedAck.begin(frame), bth)
  aeth.write(frame.view, carriedAck.aethAt(frame), aeth.ACK_UNLIMITED, 0x010203)
  carriedAck.setPsn(frame, 0x1_abcdef, 0x85)
  t.equal(frame.bytes.toString('hex', shim, bth), '1180000100000000' + '1f010203' + '05abcdef')
  t.equal(parseFrame(frame), WireError.OK)
  t.ok(carriedAck.isIn(frame))
  t.ok(telemetry.isEcho(frame), 'hops write nothing into it')
  t.notOk(telemetry.hasRecords(frame))
  t.equal(carriedAck.psn(frame), 0xabcdef)
  t.equal(carriedAck.duplicates(frame), 5)
  t.match(
    printFrame(frame),
    /INT compact hops 0\/1 .* echo, carries acks 11259375, ack msn 66051 duplicates 5, RC_SEND_ONLY/,
  )
})

t.test('no other shim is one', async t => {
  const others = [
    SHAPE,
    { ...COMPACT, slots: 0 },
    { ...COMPACT, slots: 2 },
    { ...COMPACT, format: intShim.FORMAT_WIDE },
    { ...COMPACT, flags: 0 },
    { ...COMPACT, flags: intShim.FLAG_ECHO | intShim.FLAG_REVERSE },
  ]
  for (const shape of others) {
    const frame = buildRoce(shape)
    t.equal(parseFrame(frame), WireError.OK)
    t.notOk(carriedAck.isIn(frame))
  }
  const frame = buildRoce(COMPACT)
  parseFrame(frame)
  intShim.setHops(frame.view, frame.shim, 1, 1)
  t.notOk(carriedAck.isIn(frame), 'an echo of one hop')
})
