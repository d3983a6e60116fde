import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import * as messages from '../../lib/wire/cm/cm-messages.js'
import { Attribute } from '../../lib/wire/cm/cm-messages.js'
import * as cma from '../../lib/wire/cm/cma-header.js'
import * as drep from '../../lib/wire/cm/drep.js'
import * as dreq from '../../lib/wire/cm/dreq.js'
import * as mad from '../../lib/wire/cm/mad.js'
import * as mra from '../../lib/wire/cm/mra.js'
import type { Path } from '../../lib/wire/cm/path.js'
import * as rej from '../../lib/wire/cm/rej.js'
import * as rep from '../../lib/wire/cm/rep.js'
import * as req from '../../lib/wire/cm/req.js'
import * as rtu from '../../lib/wire/cm/rtu.js'
import { CAPTURES, readCapture } from '../cm/captures.js'
import { drawnSeed } from '../support/seeds.js'

/** A seed, printed, so that a failure can be replayed. */
const seed = drawnSeed(t)

const MADS = CAPTURES.flatMap(name => readCapture(name).mads)

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

/** Reads every field of a message and writes them into bytes with other contents. */
function rewrite(view: DataView): Uint8Array {
  const bytes = new Uint8Array(mad.BYTES).fill(0xee)
  const into = new DataView(bytes.buffer)
  const tid = mad.transactionId(view, 0)
  switch (mad.attributeId(view, 0)) {
    case Attribute.REQ: {
      const message = req.read(view, 0)
      // The CMA header goes through its own codec, too.
      const data = new DataView(message.privateData.buffer)
      const header = cma.read(data, 0)
      message.privateData.fill(0xee, 0, cma.BYTES)
      cma.write(data, 0, header)
      req.write(into, 0, tid, message)
      break
    }
    case Attribute.REP:
      rep.write(into, 0, tid, rep.read(view, 0))
      break
    case Attribute.RTU:
      rtu.write(into, 0, tid, rtu.read(view, 0))
      break
    case Attribute.REJ:
      rej.write(into, 0, tid, rej.read(view, 0))
      break
    case Attribute.MRA:
      mra.write(into, 0, tid, mra.read(view, 0))
      break
    case Attribute.DREQ:
      dreq.write(into, 0, tid, dreq.read(view, 0))
      break
    case Attribute.DREP:
      drep.write(into, 0, tid, drep.read(view, 0))
  }
  return bytes
}

t.test(
  'every datagram that Linux sent is sound and comes out the same when its fields are written again',
  async t => {
    t.equal(MADS.length, 38, 'the captures hold 38 of them')
    for (const { capture, packet, bytes, view } of MADS) {
      const name = `${capture} ${packet} ${messages.attributeName(mad.attributeId(view, 0))}`
      t.equal(messages.check(view, 0, mad.BYTES), mad.MadFault.NONE, `${name} is sound`)
      t.equal(hex(rewrite(view)), hex(bytes), `${name} comes out the same`)
    }
  },
)

t.test('fields of a REQ stand where Linux puts them', async t => {
  // cm_privdata: rdma_connect with distinct values; they are those that its program was given.
  const { view } = readCapture('cm_privdata').mads[0]!
  const message = req.read(view, 0)
  t.equal(mad.transactionId(view, 0), 0x000000023515315en)
  t.match(message, {
    localCommId: 0x5e311535,
    vendorId: 0,
    serviceId: 0x0000000001061c06n,
    localCaGuid: 0x505400fffe990002n,
    localQkey: 0,
    localQpn: 0x15,
    responderResources: 4,
    localEecn: 0,
    initiatorDepth: 5,
    remoteEecn: 0,
    remoteCmResponseTimeout: 20,
    transport: req.Transport.RC,
    endToEndFlowControl: false,
    startingPsn: 0x530fae,
    localCmResponseTimeout: 20,
    retryCount: 6,
    pkey: 0xffff,
    pathMtu: 5,
    rdcExists: false,
    rnrRetry: 3,
    maxCmRetries: 15,
    srq: false,
    extendedTransport: 0,
  })
  t.match(message.primary, {
    localLid: 0xffff,
    remoteLid: 0xffff,
    flowLabel: 0xbe7db,
    packetRate: 0,
    trafficClass: 0,
    hopLimit: 64,
    serviceLevel: 0,
    subnetLocal: false,
    localAckTimeout: 19,
  })
  t.equal(hex(message.primary.localGid), '00000000000000000000ffff0a630002', '::ffff:10.99.0.2')
  t.equal(hex(message.primary.remoteGid), '00000000000000000000ffff0a630001', '::ffff:10.99.0.1')
  const header = cma.read(new DataView(message.privateData.buffer), 0)
  t.match(header, { version: 0, ipVersion: 4, sourcePort: 58763 })
  t.equal(hex(header.source), '00000000000000000000ffff0a630002', 'an IPv4 address reads as a GID')
  t.equal(Buffer.from(message.privateData.subarray(36, 52)).toString(), 'CLIPRIV_REQDATA\0')
})

t.test('fields of a REP, a REJ and a DREQ stand where Linux puts them', async t => {
  const answer = rep.read(readCapture('cm_privdata').mads[1]!.view, 0)
  t.match(answer, {
    localCommId: 0x4a786b38,
    remoteCommId: 0x5e311535,
    localQkey: 0,
    localQpn: 0x14,
    vendorId: 0,
    localEecn: 0,
    startingPsn: 0xebf11e,
    responderResources: 2,
    initiatorDepth: 3,
    targetAckDelay: 15,
    failoverAccepted: 0,
    endToEndFlowControl: false,
    rnrRetry: 5,
    srq: false,
    localCaGuid: 0x505400fffe990001n,
  })
  t.equal(Buffer.from(answer.privateData.subarray(0, 15)).toString(), 'SRVPRIV_REPDATA')
  const noPort = rej.read(readCapture('cm_rej_noport').mads[1]!.view, 0)
  t.match(noPort, { localCommId: 0, remoteCommId: 0x59311535, message: 0, reason: 8, informationLength: 0 })
  const byUser = rej.read(readCapture('cm_rej_user').mads[1]!.view, 0)
  t.match(byUser, { localCommId: 0x48786b38, remoteCommId: 0x5f311535, message: 0, reason: 28 })
  t.ok(
    byUser.privateData.some(byte => byte !== 0),
    'the application said something',
  )
  const close = dreq.read(readCapture('cm_srv_disc').mads[3]!.view, 0)
  t.match(close, { localCommId: 0x4e786b38, remoteCommId: 0x5c311535, remoteQpn: 0x17 })
})

t.test('a MRA lies as its bit fields say (IBA 12.6.6)', async t => {
  const bytes = new Uint8Array(256)
  const view = new DataView(bytes.buffer)
  const privateData = Uint8Array.of(0xaa)
  mra.write(view, 0, 1n, { localCommId: 2, remoteCommId: 3, message: 1, serviceTimeout: 24, privateData })
  t.equal(
    hex(bytes.subarray(0, 36)),
    '01070203' +
      '00000000' +
      '0000000000000001' +
      '0011' +
      '0000' +
      '00000000' +
      '00000002' +
      '00000003' +
      '40' +
      'c0' +
      'aa00',
  )
})

t.test('a CMA header of IPv6 has its 16 bytes of address as they are', async t => {
  const source = Uint8Array.from({ length: 16 }, (_, i) => 0x20 + i)
  const destination = Uint8Array.from({ length: 16 }, (_, i) => 0xf0 - i)
  const bytes = new Uint8Array(36)
  const view = new DataView(bytes.buffer)
  cma.write(view, 0, { version: 0, ipVersion: 6, sourcePort: 0xabcd, source, destination })
  t.equal(hex(bytes), `0060abcd${hex(source)}${hex(destination)}`)
  t.same(cma.read(view, 0), { version: 0, ipVersion: 6, sourcePort: 0xabcd, source, destination })
})

t.test('anything written reads as it was', async t => {
  const nat = (bits: number) => fc.integer({ min: 0, max: 2 ** bits - 1 })
  const octets = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
  const u64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n })
  const aPath: fc.Arbitrary<Path> = fc.record({
    localLid: nat(16),
    remoteLid: nat(16),
    localGid: octets(16),
    remoteGid: octets(16),
    flowLabel: nat(20),
    packetRate: nat(6),
    trafficClass: nat(8),
    hopLimit: nat(8),
    serviceLevel: nat(4),
    subnetLocal: fc.boolean(),
    localAckTimeout: nat(5),
  })
  const aReq: fc.Arbitrary<req.Req> = fc.record({
    localCommId: nat(32),
    vendorId: nat(24),
    serviceId: u64,
    localCaGuid: u64,
    localQkey: nat(32),
    localQpn: nat(24),
    responderResources: nat(8),
    localEecn: nat(24),
    initiatorDepth: nat(8),
    remoteEecn: nat(24),
    remoteCmResponseTimeout: nat(5),
    transport: nat(2),
    endToEndFlowControl: fc.boolean(),
    startingPsn: nat(24),
    localCmResponseTimeout: nat(5),
    retryCount: nat(3),
    pkey: nat(16),
    pathMtu: nat(4),
    rdcExists: fc.boolean(),
    rnrRetry: nat(3),
    maxCmRetries: nat(4),
    srq: fc.boolean(),
    extendedTransport: nat(3),
    primary: aPath,
    alternate: aPath,
    privateData: octets(92),
  })
  const aRep: fc.Arbitrary<rep.Rep> = fc.record({
    localCommId: nat(32),
    remoteCommId: nat(32),
    localQkey: nat(32),
    localQpn: nat(24),
    vendorId: nat(24),
    localEecn: nat(24),
    startingPsn: nat(24),
    responderResources: nat(8),
    initiatorDepth: nat(8),
    targetAckDelay: nat(5),
    failoverAccepted: nat(2),
    endToEndFlowControl: fc.boolean(),
    rnrRetry: nat(3),
    srq: fc.boolean(),
    localCaGuid: u64,
    privateData: octets(196),
  })
  const aRej: fc.Arbitrary<rej.Rej> = fc.record({
    localCommId: nat(32),
    remoteCommId: nat(32),
    message: nat(2),
    reason: nat(16),
    informationLength: nat(7),
    information: octets(72),
    privateData: octets(148),
  })
  roundTrip(t, aReq, req.write, req.read)
  roundTrip(t, aRep, rep.write, rep.read)
  roundTrip(t, aRej, rej.write, rej.read)
})

/** Written at any offset, it reads the same, and its neighbours are unchanged. */
function roundTrip<T>(
  t: Test,
  messages: fc.Arbitrary<T>,
  write: (view: DataView, at: number, transactionId: bigint, message: T) => void,
  read: (view: DataView, at: number) => T,
): void {
  const bytes = new Uint8Array(300)
  const view = new DataView(bytes.buffer)
  const property = fc.property(fc.integer({ min: 1, max: 40 }), messages, (at, message) => {
    bytes.fill(0x5a)
    write(view, at, 0x0123456789abcdefn, message)
    const untouched = bytes.every((byte, i) => (i >= at && i < at + mad.BYTES) || byte === 0x5a)
    return untouched && isDeepStrictEqual(read(view, at), structuredClone(message))
  })
  t.doesNotThrow(() => fc.assert(property, { seed, numRuns: 200 }))
}

t.test('what is no message of the connection manager has a reason', async t => {
  const { bytes } = MADS[0]!
  const fault = (at: number, value: number): number => {
    const copy = bytes.slice()
    copy[at] = value
    return messages.check(new DataView(copy.buffer), 0, 256)
  }
  const { MadFault } = mad
  t.equal(fault(0, 2), MadFault.BASE_VERSION)
  t.equal(fault(1, 4), MadFault.CLASS)
  t.equal(fault(2, 1), MadFault.CLASS_VERSION)
  t.equal(fault(3, 0x83), MadFault.METHOD)
  t.equal(fault(17, 0x19), MadFault.ATTRIBUTE, 'LAP is not spoken')
  t.equal(fault(16, 1), MadFault.ATTRIBUTE)
  const view = new DataView(bytes.buffer)
  for (let end = 0; end < 256; end++) {
    if (messages.check(view, 0, end) !== MadFault.LENGTH) t.fail(`${end} bytes pass`)
    if (!messages.print(view, 0, end).includes('malformed')) t.fail(`${end} bytes print as if sound`)
  }
  t.equal(messages.check(view, 1, 257), MadFault.LENGTH, 'past the end of the view')
})

t.test('one line says what a message is', async t => {
  const line = (name: 'cm_privdata' | 'cm_rej_noport' | 'cm_srv_disc', i: number) =>
    messages.print(readCapture(name).mads[i]!.view, 0, 256)
  t.equal(
    line('cm_privdata', 0),
    'CM REQ id 0x5e311535 service 0x0000000001061c06 (port 7174 from 58763) guid 0x505400fffe990002 qpn 0x000015' +
      ' psn 0x530fae mtu 4096 resources 4 depth 5 retry 6 rnr 3 ack-timeout 19 flow 0xbe7db private 15 bytes',
  )
  t.equal(
    line('cm_privdata', 1),
    'CM REP id 0x4a786b38 to 0x5e311535 guid 0x505400fffe990001 qpn 0x000014 psn 0xebf11e resources 2 depth 3' +
      ' rnr 5 ack-delay 15 private 15 bytes',
  )
  t.equal(line('cm_privdata', 2), 'CM RTU id 0x5e311535 to 0x4a786b38')
  t.equal(line('cm_rej_noport', 1), 'CM REJ id 0x00000000 to 0x59311535 of REQ reason 8 (invalid service id)')
  t.equal(line('cm_srv_disc', 3), 'CM DREQ id 0x4e786b38 to 0x5c311535 remote-qpn 0x000017')
  t.equal(line('cm_srv_disc', 4), 'CM DREP id 0x5c311535 to 0x4e786b38')
})
