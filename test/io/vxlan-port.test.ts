import { once } from 'node:events'
import t from 'tap'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { VxlanPort } from '../../lib/io/ports/vxlan-port.js'
import { VxlanSocket } from '../../lib/io/ports/vxlan-socket.js'
import { freePort, nextFrame, plainSocket, udpFrame4, until } from './helpers.js'

const FIELDS = {
  source: '10.0.0.1',
  destination: '10.0.0.2',
  sourcePort: 0xc001,
  destinationPort: 4791,
  payload: Uint8Array.from({ length: 1500 }, (_, i) => i & 255),
}

t.test('on the wire: the header of RFC 7348 section 5, then the frame as it is', async t => {
  const plain = await plainSocket()
  const pool = new FramePool(4)
  const port = await VxlanPort.open({
    pool,
    vni: 0x0a0b0c,
    local: { address: '127.0.0.1', port: 0 },
    peer: { address: '127.0.0.1', port: plain.address().port },
  })
  const frame = udpFrame4(pool, FIELDS)
  const expected = Buffer.concat([
    Buffer.from('080000000a0b0c00', 'hex'),
    Buffer.from(frame.bytes.subarray(0, frame.length)),
  ])
  const message = once(plain, 'message')
  port.transmit(frame)
  const [bytes, from] = await message
  t.same(bytes, expected)
  t.equal(from.port, port.localPort)

  plain.send(expected, port.localPort, '127.0.0.1')
  const back = await nextFrame(port)
  t.same(back.bytes.subarray(0, back.length), expected.subarray(8))
  t.equal(back.wireLength, back.length)
  pool.give(back)
  plain.close()
  await port.close()
  t.equal(pool.inUse, 0)
})

t.test('malformed, unknown VNI, unknown peer, too long: counted and dropped', async t => {
  const [peer, stranger] = [await plainSocket(), await plainSocket()]
  const pool = new FramePool(4, 512)
  const port = await VxlanPort.open({
    pool,
    vni: 7,
    local: { address: '127.0.0.1', port: 0 },
    peer: { address: '127.0.0.1', port: peer.address().port },
  })
  const { drops } = port.counters
  const header = Buffer.from('0800000000000700', 'hex')
  const send = (socket: typeof peer, bytes: Uint8Array) => socket.send(bytes, port.localPort, '127.0.0.1')
  for (let length = 0; length < 8 + 14; length++)
    send(peer, Buffer.concat([header, Buffer.alloc(14)], length))
  send(peer, Buffer.concat([Buffer.from('0000000000000700', 'hex'), Buffer.alloc(60)]))
  send(peer, Buffer.concat([Buffer.from('0800000000000800', 'hex'), Buffer.alloc(60)]))
  send(peer, Buffer.concat([header, Buffer.alloc(513)]))
  send(stranger, Buffer.concat([header, Buffer.alloc(60)]))
  await until(() => port.counters.dropped === 26)
  t.equal(drops.malformed, 23)
  t.equal(drops.unknownVni, 1)
  t.equal(drops.tooLong, 1)
  t.equal(drops.unknownPeer, 1)
  t.equal(port.counters.rxFrames, 0)
  t.equal(port.receive(), null)
  // RFC 7348: reserved bits are ignored on receipt.
  send(peer, Buffer.concat([Buffer.from('ffffffff000007ff', 'hex'), Buffer.alloc(60)]))
  pool.give(await nextFrame(port))
  peer.close()
  stranger.close()
  await port.close()
  t.equal(pool.inUse, 0)
})

t.test('one socket, many links: each frame comes and goes by its own', async t => {
  const pool = new FramePool(32)
  const hubPort = freePort()
  const hub = { address: '127.0.0.1', port: hubPort }
  const hosts = await Promise.all(
    [11, 12, 13].map(vni =>
      VxlanPort.open({ pool, vni, local: { address: '127.0.0.1', port: 0 }, peer: hub }),
    ),
  )
  const seen: number[] = []
  const socket: VxlanSocket = await VxlanSocket.open({
    pool,
    local: hub,
    links: hosts.map((host, i) => ({ vni: 11 + i, peer: { address: '127.0.0.1', port: host.localPort } })),
    onFrame: (link, frame) => {
      seen.push(link)
      socket.transmit((link + 1) % 3, frame)
    },
  })
  for (const host of hosts) {
    host.transmit(udpFrame4(pool, { ...FIELDS, sourcePort: host.localPort }))
  }
  for (const [i, host] of hosts.entries()) {
    const frame = await nextFrame(host)
    t.equal(frame.view.getUint16(34), hosts[(i + 2) % 3]!.localPort, 'from the link before')
    pool.give(frame)
  }
  t.same(seen.sort(), [0, 1, 2])
  await Promise.all([...hosts.map(host => host.close()), socket.close()])
  t.equal(pool.inUse, 0)
})

t.test('two links with one VNI are refused', async t => {
  const peer = { address: '127.0.0.1', port: 9 }
  const links = [
    { vni: 5, peer },
    { vni: 5, peer },
  ]
  await t.rejects(
    VxlanSocket.open({
      pool: new FramePool(2),
      local: { address: '127.0.0.1', port: 0 },
      links,
      onFrame: () => {},
    }),
    { code: 'WEIR_BAD_ARGUMENT', message: /VNI 5/ },
  )
})

t.test(
  'what the kernel drops because nobody reads is counted',
  { skip: process.platform !== 'linux' && 'only Linux says how many' },
  async t => {
    for (const address of ['127.0.0.1', '::1']) {
      const peer = await plainSocket(address)
      const pool = new FramePool(4096)
      const port = await VxlanPort.open({
        pool,
        vni: 7,
        local: { address, port: 0 },
        peer: { address, port: peer.address().port },
        ringFrames: 4096,
        socketBufferBytes: 16_384,
      })
      const datagram = Buffer.concat([Buffer.from('0800000000000700', 'hex'), Buffer.alloc(1000)])
      // The event loop reads nothing meanwhile: the kernel takes each datagram within the call.
      const sent = Array.from(
        { length: 2000 },
        () => new Promise(done => peer.send(datagram, port.localPort, address, done)),
      )
      await Promise.all(sent)
      await until(() => port.counters.rxFrames + port.counters.drops.kernelFull === 2000)
      t.ok(port.counters.drops.kernelFull > 0, `${port.counters.drops.kernelFull} dropped`)
      t.equal(port.counters.rxFrames + port.counters.drops.kernelFull, 2000, 'and no other is missing')
      peer.close()
      await port.close()
      t.equal(pool.inUse, 0)
    }
  },
)
