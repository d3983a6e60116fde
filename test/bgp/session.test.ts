/** The states of RFC 4271, section 8: a peer that is a script of bytes. */
import t from 'tap'
import type { ByteStream } from '../../lib/bgp/byte-stream.js'
import type { BgpSession } from '../../lib/bgp/session.js'
import { Speaker } from '../../lib/bgp/speaker.js'
import { Random } from '../../lib/sim/random.js'
import * as message from '../../lib/wire/bgp/message.js'
import { readOpen } from '../../lib/wire/bgp/open.js'
import { prefixKey } from '../../lib/wire/bgp/prefix.js'
import { drawnSeed } from '../support/seeds.js'
import { SECOND } from './net.js'

const MARKER = 'ff'.repeat(16)

function framed(type: number, body: string): Buffer {
  const length = (19 + body.length / 2).toString(16).padStart(4, '0')
  return Buffer.from(MARKER + length + type.toString(16).padStart(2, '0') + body, 'hex')
}

/** AS 65000, identifier 10.0.0.2, no capabilities. @param hold in hex */
const open = (hold = '0009', as = 'fde8', identifier = '0a000002') =>
  framed(1, `04${as}${hold}${identifier}00`)
const KEEPALIVE = framed(4, '')
const END_OF_RIB = framed(2, '00000000')

const NAMES = ['', 'OPEN', 'UPDATE', 'NOTIFICATION', 'KEEPALIVE', 'REFRESH']

/** A speaker with one passive neighbour, to which a script talks. */
class Peer implements ByteStream {
  readonly speaker = new Speaker(
    {
      as: 65_000,
      identifier: 0x0a000001,
      holdSeconds: 9,
      random: () => 0,
      routesMax: 2,
      neighbours: [{ address: 'p', passive: true }],
    },
    { connect: () => {}, routeChanged: () => {} },
  )
  readonly session: BgpSession
  isOpen = true
  /** Bytes that the stream takes. */
  left = Number.POSITIVE_INFINITY
  #heard: string[] = []

  constructor() {
    this.session = this.speaker.onAccepted(0, 'p', this)!
  }

  room(): number {
    return Math.min(1 << 16, this.left)
  }

  write(_now: number, bytes: Uint8Array): void {
    this.left -= bytes.length
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    const type = message.type(view, 0)
    const codes = type === 3 ? ` ${view.getUint8(19)}/${view.getUint8(20)}` : ''
    this.#heard.push(NAMES[type]! + codes)
  }

  close(): void {
    this.isOpen = false
  }

  say(now: number, ...messages: Buffer[]): void {
    for (const bytes of messages) this.speaker.onBytes(now, this.session, bytes)
  }

  /** What the speaker has said since the last call, and its state. */
  get heard(): string {
    const text = [...this.#heard, this.speaker.status()[0]!.state].join(', ')
    this.#heard = []
    return text
  }
}

t.test('from OPEN to established, byte by byte', async t => {
  const peer = new Peer()
  t.equal(peer.heard, 'OPEN, open-sent')
  for (const byte of open()) peer.say(0, Buffer.from([byte]))
  t.equal(peer.heard, 'KEEPALIVE, open-confirm')
  peer.say(0, KEEPALIVE)
  t.equal(peer.heard, 'UPDATE, established', 'the End-of-RIB of no routes')
  peer.say(0, END_OF_RIB, framed(5, '00010001'), KEEPALIVE)
  t.equal(peer.heard, 'established')
})

t.test('a message out of place (RFC 6608)', async t => {
  for (const [before, wrong, heard] of [
    [[], KEEPALIVE, 'NOTIFICATION 5/1, active'],
    [[], END_OF_RIB, 'NOTIFICATION 5/1, active'],
    [[open()], open(), 'NOTIFICATION 5/2, active'],
    [[open()], END_OF_RIB, 'NOTIFICATION 5/2, active'],
    [[open(), KEEPALIVE], open(), 'NOTIFICATION 5/3, active'],
    [[open(), KEEPALIVE], framed(2, '00050000'), 'NOTIFICATION 3/1, active'],
    [[open()], framed(9, ''), 'NOTIFICATION 1/3, active'],
    [[], open('0009', 'fde9'), 'NOTIFICATION 2/2, active'],
    [[], open('0001'), 'NOTIFICATION 2/6, active'],
    [[], open('0009', 'fde8', '0a000001'), 'NOTIFICATION 2/3, active'],
    // IPv6 alone.
    [[], framed(1, `04fde800090a00000208020601040002${'0001'}`), 'NOTIFICATION 2/7, active'],
    [[open(), KEEPALIVE], framed(3, '0602'), 'active'],
  ] as const) {
    const peer = new Peer()
    peer.say(0, ...before)
    void peer.heard
    peer.say(0, wrong)
    t.equal(peer.heard, heard)
    t.notOk(peer.isOpen)
    peer.say(0, KEEPALIVE)
    t.equal(peer.heard, 'active', 'what comes later is not read')
  }
})

t.test('the hold timer and keepalives (sections 4.4, 6.5)', async t => {
  const peer = new Peer()
  void peer.heard
  // The peer offers 6 s, less than the 9 s here.
  peer.say(0, open('0006'), KEEPALIVE)
  void peer.heard
  const speaker = peer.speaker
  t.equal(speaker.nextTimeout(), 2 * SECOND, 'a keepalive each third of the hold time')
  speaker.onTimeout(2 * SECOND)
  t.equal(peer.heard, 'KEEPALIVE, established')
  peer.say(3 * SECOND, KEEPALIVE)
  speaker.onTimeout(8 * SECOND)
  t.equal(peer.heard, 'KEEPALIVE, established')
  speaker.onTimeout(9 * SECOND)
  t.equal(peer.heard, 'NOTIFICATION 4/0, active')
  t.match(speaker.status()[0]!.lastEnd, 'hold timer expired')
  const never = new Peer()
  never.say(0, open('0000'), KEEPALIVE)
  t.equal(never.speaker.nextTimeout(), Number.POSITIVE_INFINITY, 'hold time 0: neither')
  const silent = new Peer()
  silent.speaker.onTimeout(10 * SECOND)
  t.equal(silent.heard, 'OPEN, NOTIFICATION 4/0, active', 'a peer that never says OPEN')
})

t.test('a neighbour that sends more routes than it may', async t => {
  const peer = new Peer()
  peer.say(0, open(), KEEPALIVE)
  void peer.heard
  const attributes = '40010100' + '400200' + '4003040a000002'
  peer.say(0, framed(2, `0000000e${attributes}200a000001200a000002`))
  t.equal(peer.heard, 'established')
  t.equal([...peer.speaker.routes()].length, 2)
  peer.say(0, framed(2, `0000000e${attributes}200a000003`))
  t.equal(peer.heard, 'NOTIFICATION 6/1, active')
  t.equal([...peer.speaker.routes()].length, 0)
})

t.test('who is no neighbour', async t => {
  const peer = new Peer()
  let closed = false
  const stream = { room: () => 0, write: () => t.fail('said something'), close: () => (closed = true) }
  t.equal(peer.speaker.onAccepted(0, 'stranger', stream), null)
  t.ok(closed)
})

t.test('random bytes', async t => {
  const random = new Random(drawnSeed(t))
  for (let i = 0; i < 2000; i++) {
    const peer = new Peer()
    const script = Buffer.concat([open(), KEEPALIVE, END_OF_RIB, framed(3, '0602')])
    for (let n = 0; n < 1 + (random.u32() % 4); n++)
      script[random.u32() % script.length] = random.u32() & 0xff
    for (let at = 0; at < script.length; ) {
      const bytes = 1 + (random.u32() % 30)
      peer.say(0, script.subarray(at, at + bytes))
      at += bytes
    }
    if (!peer.isOpen && peer.speaker.nextTimeout() !== Number.POSITIVE_INFINITY) t.fail('a timer is left')
  }
  const own = Buffer.from(open())
  t.match(readOpen(new DataView(own.buffer, own.byteOffset, own.length), 0), { as: 65_000 })
})

t.test('a speaker that was held up gives the peer three more intervals', async t => {
  const peer = new Peer()
  peer.say(0, open(), KEEPALIVE)
  const { speaker } = peer
  speaker.onHeldUp(8 * SECOND)
  speaker.onTimeout(8 * SECOND)
  t.match(peer.heard, /established$/)
  for (const at of [10, 13, 16]) {
    speaker.onHeldUp(at * SECOND)
    speaker.onTimeout(at * SECOND)
    t.match(peer.heard, /established$/, `at ${at} s`)
  }
  speaker.onHeldUp(19 * SECOND)
  speaker.onTimeout(19 * SECOND)
  t.match(peer.heard, /NOTIFICATION 4\/0, active$/)
})

t.test(
  'a peer that says that it is there, and reads nothing, is given up after two hold times (RFC 9687)',
  async t => {
    const peer = new Peer()
    peer.say(0, open('0006'), KEEPALIVE)
    const { speaker } = peer
    void peer.heard
    peer.left = 10_000
    const announce = (now: number, from: number, count: number) => {
      for (let i = 0; i < count; i++) speaker.announce(now, prefixKey(from + i, 32), { nextHop: 1 })
    }
    announce(0, 0, 1000)
    t.match(speaker.status(), [{ waits: 1 }])
    const { waiting } = speaker.status()[0]!
    t.ok(waiting > 0 && waiting < 1000, `${waiting} wait`)
    announce(SECOND, 0, 1000)
    t.equal(speaker.status()[0]!.waiting, 1000, 'what is announced again waits once')
    void peer.heard
    for (let at = 2; at <= 10; at += 2) {
      peer.say(at * SECOND, KEEPALIVE)
      speaker.onTimeout(at * SECOND)
      t.equal(peer.heard, 'established', `at ${at} s`)
    }
    peer.left = 1e6
    speaker.onWritable(11 * SECOND, peer.session)
    t.match(peer.heard, /UPDATE, established/, 'it has read')
    t.match(speaker.status(), [{ waiting: 0, waits: 1 }])
    peer.left = 0
    announce(12 * SECOND, 2000, 1)
    t.match(speaker.status(), [{ waiting: 1, waits: 2 }])
    for (let at = 13; speaker.status()[0]!.state === 'established' && at < 60; at++) {
      peer.say(at * SECOND, KEEPALIVE)
      speaker.onTimeout(at * SECOND)
      if (at < 23) t.equal(peer.heard, 'established', `at ${at} s`)
    }
    t.equal(peer.heard, 'NOTIFICATION 8/0, active')
    t.match(speaker.status(), [{ lastEnd: /^send hold timer expired/, waiting: 0 }])
  },
)
