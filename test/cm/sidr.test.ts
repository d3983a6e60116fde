/** Questions for datagram ports: IBA 12.11, with the layout of Linux's ibta_vol1_c12.h. */
import t from 'tap'
import { ConnectionManager } from '../../lib/cm/connection-manager.js'
import { MadDatagram } from '../../lib/cm/outbox.js'
import type { DatagramService } from '../../lib/cm/sidr.js'
import type { WeirError } from '../../lib/errors.js'
import { SECOND } from '../../lib/time/nanos.js'
import * as messages from '../../lib/wire/cm/cm-messages.js'
import { HostAddress } from '../../lib/wire/net/address.js'

const [A, B, C] = ['10.0.0.1', '10.0.0.2', '10.0.0.3'].map(text => HostAddress.parse(text)) as [
  HostAddress,
  HostAddress,
  HostAddress,
]

function manager(address: HostAddress): ConnectionManager {
  let number = 100
  return new ConnectionManager({ caGuid: 1n, addresses: [address], random: () => number++ })
}

/** Moves all datagrams of one to the other, as if they came from `address`. Returns the last one. */
function move(from: ConnectionManager, to: ConnectionManager, address: HostAddress): MadDatagram {
  const datagram = new MadDatagram()
  while (from.pollTransmit(0, datagram)) to.onMad(0, address, datagram.view, 0, 256)
  return datagram
}

function ask(asking: ConnectionManager, port: number, said = '') {
  const answers: (DatagramService | WeirError)[] = []
  asking.sidr.ask(0, {
    remote: B,
    port,
    privateData: Buffer.from(said),
    done: answer => answers.push(answer),
  })
  return answers
}

t.test('question and answer, byte by byte', async t => {
  const [asking, serving] = [manager(A), manager(B)]
  serving.sidr.serve(7174, { qpn: 0x123456, qkey: 0x0123_4567, privateData: Buffer.from('yes') })
  const answers = ask(asking, 7174, 'please')
  const question = move(asking, serving, A)
  const bytes = Buffer.from(question.bytes)
  t.equal(bytes.toString('hex', 0, 4), '01070203')
  t.equal(bytes.toString('hex', 16, 18), '0017')
  t.equal(bytes.readUInt16BE(28), 0xffff)
  t.equal(bytes.toString('hex', 32, 40), '0000000001111c06', 'RDMA_PS_UDP and port 7174')
  t.equal(bytes.toString('hex', 40, 42), '0040', 'CMA header: version 0, IPv4')
  t.same([...bytes.subarray(56, 60), ...bytes.subarray(72, 76)], [10, 0, 0, 1, 10, 0, 0, 2])
  t.equal(bytes.toString('latin1', 76, 83), 'please\0')
  const reply = Buffer.from(move(serving, asking, B).bytes)
  t.equal(reply.toString('hex', 16, 18), '0018')
  t.ok(reply.subarray(8, 16).equals(bytes.subarray(8, 16)), 'the transaction of the question')
  t.ok(reply.subarray(24, 28).equals(bytes.subarray(24, 28)), 'and its request id')
  t.equal(reply.toString('hex', 28, 48), '000000001234560000000000' + '01111c06' + '01234567')
  t.equal(reply.toString('latin1', 120, 124), 'yes\0')
  t.match(answers, [{ qpn: 0x123456, qkey: 0x0123_4567 }])
  t.equal(answers.length, 1)
  t.match(
    messages.print(question.view, 0, 256),
    /SIDR_REQ id 0x\w+ service 0x0000000001111c06 private 42 bytes/,
  )
})

t.test('status 1 where nobody has the port, or in another port space; 2 for another host', async t => {
  const [asking, serving] = [manager(A), manager(B)]
  serving.sidr.serve(7174, { qpn: 5, qkey: 6, privateData: new Uint8Array(0) })
  const datagram = new MadDatagram()
  const status = (change: (view: DataView) => void) => {
    ask(asking, 7174)
    while (asking.pollTransmit(0, datagram)) {
      change(datagram.view)
      serving.onMad(0, A, datagram.view, 0, 256)
    }
    serving.pollTransmit(0, datagram)
    return [datagram.bytes[28], datagram.view.getUint32(32), datagram.view.getUint32(44)]
  }
  t.same(
    status(view => view.setUint16(38, 9)),
    [1, 0, 0],
  )
  t.same(
    status(view => view.setUint16(36, 0x0106)),
    [1, 0, 0],
    'RDMA_PS_TCP',
  )
  t.same(
    status(view => view.setUint16(36, 0x0002)),
    [1, 0, 0],
    'RDMA_PS_IPOIB',
  )
  t.same(
    status(view => view.setUint8(75, 77)),
    [2, 0, 0],
    'the CMA header names another host',
  )
  t.equal(serving.counters.sidrRefused, 4)
  const others = asking.duties.count
  const refused = ask(asking, 9)
  t.equal(asking.duties.count, others + 2, 'a datagram, and a question')
  move(asking, serving, A)
  move(serving, asking, B)
  t.match(refused, [{ code: 'WEIR_REJECTED', message: /nobody has that port/ }])
  t.equal(asking.duties.count, others)
})

t.test('a question is repeated eight times in all, and only its host answers it', async t => {
  const [asking, serving] = [manager(A), manager(B)]
  serving.sidr.serve(7174, { qpn: 5, qkey: 6, privateData: new Uint8Array(0) })
  const answers = ask(asking, 7174)
  move(asking, serving, A)
  move(serving, asking, C)
  t.same([answers.length, asking.counters.wrongSource], [0, 1])
  let asked = 1
  for (let now = asking.nextTimeout(); now < 100 * SECOND; now = asking.nextTimeout()) {
    asking.onTimeout(now)
    while (asking.pollTransmit(now, new MadDatagram())) asked++
  }
  t.equal(asked, 8)
  t.match(answers, [{ code: 'WEIR_UNREACHABLE' }])
  t.equal(answers.length, 1)
  t.equal(asking.duties.count, 0)
})
