/**
 * Managers that receive datagrams at different UDP ports: each learns the other's, and a message to a host
 * with an equal port is unchanged.
 */
import t from 'tap'
import { ConnectionManager } from '../../lib/cm/connection-manager.js'
import { MadDatagram } from '../../lib/cm/outbox.js'
import { Random } from '../../lib/sim/random.js'
import * as mad from '../../lib/wire/cm/mad.js'
import { HostAddress } from '../../lib/wire/net/address.js'

const CM_PORT = 4793
const ADDRESS = HostAddress.parse('10.0.0.1')
const random = new Random(5)

function managerAt(udpPort: number): ConnectionManager {
  const caGuid = BigInt(udpPort)
  const manager = new ConnectionManager({ caGuid, addresses: [ADDRESS], udpPort, random: () => random.u32() })
  manager.listen(CM_PORT)
  return manager
}

function connect(manager: ConnectionManager, qpn: number, udpPort?: number): number {
  return manager.connect(0, { remote: ADDRESS, udpPort, port: CM_PORT, qpn, startingPsn: 1, pathMtu: 1024 })
}

t.test('a connection between ports, to its end', async t => {
  const managers = new Map([4791, 5791].map(port => [port, managerAt(port)]))
  const [a, b] = [...managers.values()] as [ConnectionManager, ConnectionManager]
  const ways: string[] = []
  const datagram = new MadDatagram()
  const carry = () => {
    for (let moved = true; moved; ) {
      moved = false
      for (const [port, manager] of managers) {
        if (!manager.pollTransmit(0, datagram)) continue
        moved = true
        ways.push(`${port} to ${datagram.udpPort}, answers to ${mad.replyPort(datagram.view, 0)}`)
        managers.get(datagram.udpPort)!.onMad(0, ADDRESS, datagram.view, 0, mad.BYTES)
      }
    }
  }
  const id = connect(a, 7, 5791)
  carry()
  const request = b.pollEvent()!
  t.match(request, { type: 'connectRequest', udpPort: 4791 })
  b.accept(0, request.id, { qpn: 9, startingPsn: 2 })
  carry()
  t.match(a.pollEvent(), { type: 'established', id })
  a.disconnect(0, id)
  carry()
  t.match([b.pollEvent(), b.pollEvent()], [{ type: 'established' }, { type: 'disconnected', cause: 'peer' }])
  const out = '4791 to 5791, answers to 4791'
  const back = '5791 to 4791, answers to 5791'
  t.same(ways, [out, back, out, out, back])
})

t.test('what answers for no connection goes to the port that asks', async t => {
  const manager = managerAt(5791)
  const asking = managerAt(6791)
  manager.unlisten(CM_PORT)
  connect(asking, 7, 5791)
  const datagram = new MadDatagram()
  t.ok(asking.pollTransmit(0, datagram))
  manager.onMad(0, ADDRESS, datagram.view, 0, mad.BYTES)
  t.ok(manager.pollTransmit(0, datagram), 'a REJ')
  t.equal(datagram.udpPort, 6791)
  asking.onMad(0, ADDRESS, datagram.view, 0, mad.BYTES)
  t.match(asking.pollEvent(), { type: 'rejected' })
})

t.test('between equal ports the reserved bytes stay 0', async t => {
  const manager = managerAt(5791)
  connect(manager, 7)
  const datagram = new MadDatagram()
  t.ok(manager.pollTransmit(0, datagram))
  t.equal(datagram.udpPort, 5791)
  t.equal(mad.replyPort(datagram.view, 0), 0)
})
