/**
 * Daemons on veth by raw frames, `--io packet`. They see what ordinary sockets hide, and the kernel beside
 * them works on. Two hosts are in namespaces of their own. The wire between them runs in this process, and
 * may change and insert frames.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { connectDaemon } from '../../lib/client/daemon-client.js'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { PacketPort } from '../../lib/io/ports/packet-port.js'
import { Random } from '../../lib/sim/random.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { isRcWrite } from '../../lib/wire/ib/opcode.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as pfc from '../../lib/wire/net/pfc.js'
import { parseFrame } from '../../lib/wire/parse.js'
import { DaemonProcess, get, Run, scratch, send } from '../support/daemon-process.js'
import { sendDatagram } from '../support/kernel-sockets.js'
import { Namespaces, noNamespaces } from '../support/netns.js'

const skip = noNamespaces()
const MTU = 4500
const FLAGS = ['--io', 'packet', '--line-rate', '1Gbps']
const SWITCH_MAC = 0x02_00_00_00_00_01

/** The link between the hosts: passes every frame on, after `onFrame` has seen it. */
class Wire {
  /** `from`: 0 is h1. False: the frame is lost. */
  onFrame: (from: 0 | 1, frame: Frame) => boolean = () => true
  readonly #pool = new FramePool(2048)
  readonly #ports: readonly [PacketPort, PacketPort]
  #closed = false
  #idleTurns = 0

  constructor(ns: Namespaces, name: string) {
    const open = (end: string) => ns.inside(name, () => new PacketPort({ pool: this.#pool, interface: end }))
    this.#ports = [open('to-h1'), open('to-h2')]
    this.#run()
  }

  /** Puts a PFC frame on the link to h1. */
  pause(vector: number, quanta: number): void {
    const frame = this.#pool.take()!
    pfc.write(frame.view, 0, SWITCH_MAC, vector, quanta)
    frame.length = pfc.BYTES
    frame.wireLength = pfc.BYTES
    this.#ports[0].transmit(frame)
    this.#ports[0].flush()
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all(this.#ports.map(port => port.close()))
  }

  readonly #run = (): void => {
    if (this.#closed) return
    this.#idleTurns++
    for (const from of [0, 1] as const) {
      const other = this.#ports[1 - from]!
      for (let frame = this.#ports[from].receive(); frame !== null; frame = this.#ports[from].receive()) {
        this.#idleTurns = 0
        parseFrame(frame)
        if (this.onFrame(from, frame)) other.transmit(frame)
        else this.#pool.give(frame)
      }
      other.flush()
    }
    // It polls. While nothing arrives it leaves the core to the hosts.
    if (this.#idleTurns < 20) setImmediate(this.#run)
    else setTimeout(this.#run, 1)
  }
}

interface Bench {
  ns: Namespaces
  wire: Wire
  h1: DaemonProcess
  h2: DaemonProcess
  inH1: string
  inH2: string
  folder: string
}

async function bench(): Promise<Bench> {
  const ns = new Namespaces(t)
  const [inH1, inH2, between] = [ns.add('h1'), ns.add('h2'), ns.add('wire')]
  ns.veth({ ns: inH1, name: 'eth0', address: '10.0.0.1/24' }, { ns: between, name: 'to-h1' }, MTU)
  ns.veth({ ns: inH2, name: 'eth0', address: '10.0.0.2/24' }, { ns: between, name: 'to-h2' }, MTU)
  const wire = new Wire(ns, between)
  t.teardown(() => wire.close())
  const start = (address: string, within: string) =>
    DaemonProcess.startSharing(t, FLAGS, { address, within: ['ip', 'netns', 'exec', within] })
  const [h1, h2] = await Promise.all([start('10.0.0.1', inH1), start('10.0.0.2', inH2)])
  return { ns, wire, h1, h2, inH1, inH2, folder: await scratch(t) }
}

/** A counter of /proc/net/snmp in a namespace. */
function counter(ns: Namespaces, name: string, protocol: string, column: string): number {
  const lines = ns.exec(name, 'cat', '/proc/net/snmp').split('\n')
  const [names, values] = lines.filter(line => line.startsWith(`${protocol}: `)).map(line => line.split(' '))
  return Number(values![names!.indexOf(column)])
}

/** Sends `bytes` random bytes from h1 to h2, and checks that they are there. */
async function transfer(t: Test, { h1, h2, folder }: Bench, name: string, bytes: number) {
  const content = randomBytes(bytes)
  writeFileSync(join(folder, name), content)
  const client = await connectDaemon(h1.socket)
  const sent = await client.send(join(folder, name), h2.address)
  client.close()
  t.ok(readFileSync(join(h2.inbox, name)).equals(content), `${name} is there, byte for byte`)
  return sent
}

const isData = (frame: Frame) => frame.bth >= 0 && isRcWrite(bth.opcode(frame.view, frame.bth))

const made = skip ? null : await bench()

/** The bench, with the wire as it was. */
function ready(t: Test): Bench {
  const { wire } = made!
  t.teardown(() => {
    wire.onFrame = () => true
  })
  return made!
}

t.test('files both ways, and the kernel beside: it echoes, nothing is unreachable', { skip }, async t => {
  const made = ready(t)
  const { ns, h1, h2, inH1, inH2, folder } = made
  const client = await connectDaemon(h1.socket)
  t.match(await client.status(), { io: 'packet', pathMtu: 4096 })
  client.close()
  const files = { there: randomBytes(3_000_001), back: randomBytes(2_000_000) }
  writeFileSync(join(folder, 'there'), files.there)
  writeFileSync(join(h2.share, 'back'), files.back)
  const echoed = ns.echo(inH1, h2.address, { count: 5 })
  const transfers = [send(t, h1, ['there', h2.address], folder), get(t, h1, [`${h2.address}:back`, folder])]
  for (const { ended } of transfers) t.match(await ended, { code: 0, stderr: '' })
  t.ok(readFileSync(join(h2.inbox, 'there')).equals(files.there))
  t.ok(readFileSync(join(folder, 'back')).equals(files.back))
  t.equal((await echoed).replies.length, 5)
  for (const name of [inH1, inH2]) t.equal(counter(ns, name, 'Icmp', 'OutDestUnreachs'), 0)
  // Check of the counter: at a port that nobody holds the kernel answers.
  ns.inside(inH1, () => sendDatagram(h2.address, 5555, 'anybody?'))
  while (counter(ns, inH2, 'Icmp', 'OutDestUnreachs') === 0) await sleep(10)
})

t.test('ECN marks arrive: acknowledgements say so by BECN', { skip }, async t => {
  const made = ready(t)
  let isMarking = false
  const seen = { marked: 0, becn: 0 }
  made.wire.onFrame = (from, frame) => {
    if (from === 0 && isMarking && isData(frame)) {
      ipv4.markCe(frame.view, frame.l3)
      seen.marked++
    }
    if (from === 1 && frame.bth >= 0 && bth.becn(frame.view, frame.bth)) seen.becn++
    return true
  }
  await transfer(t, made, 'unmarked', 500_000)
  t.equal(seen.becn, 0)
  isMarking = true
  const { retransmittedBytes } = await transfer(t, made, 'marked', 500_000)
  t.ok(seen.marked >= 500_000 / 4096, `${seen.marked} packets were marked`)
  t.ok(seen.becn > 0, `${seen.becn} acknowledgements with BECN`)
  // On a busy machine an answer may come so late that a probe repeats the packet.
  t.ok(retransmittedBytes < 100_000, 'a mark is no damage: the ICRC leaves it out')
})

t.test('the ICRC: an identification of the kernel is no damage, another byte is', { skip }, async t => {
  const made = ready(t)
  const random = new Random(1)
  let changed = 0
  let changedBytes = 0
  made.wire.onFrame = (from, frame) => {
    if (from !== 0 || !isData(frame)) return true
    // Every packet is changed. If the port took that for damage, nothing would arrive.
    ipv4.setIdentification(frame.view, frame.l3, 0x1234)
    ipv4.updateChecksum(frame.view, frame.l3)
    if (random.next() < 1 / 15) {
      frame.bytes[frame.payload + 7]! ^= 4
      changed++
      changedBytes += frame.payloadLength
    }
    return true
  }
  const { retransmittedBytes } = await transfer(t, made, 'changed', 122 * 4096)
  t.ok(changed > 2, `${changed} packets`)
  t.ok(retransmittedBytes >= changedBytes, `${retransmittedBytes} bytes were sent again`)
})

t.test('PFC stops the sender, and lets it go on', { skip }, async t => {
  const made = ready(t)
  const { wire, h1 } = made
  let data = 0
  wire.onFrame = (from, frame) => {
    if (from === 0 && isData(frame) && ++data === 200) wire.pause(0b0000_0001, 0xffff)
    return true
  }
  const done = transfer(t, made, 'paused', 8_000_000)
  await h1.until(() => data >= 200, 'it was sending')
  // 65,535 quanta of 512 bits last 33 ms at 1 Gbit/s, and are repeated before they end. Without them
  // everything would be sent in 70 ms.
  let longest = 0
  for (let i = 0, since = performance.now(); i < 30; i++) {
    await sleep(10)
    wire.pause(0b0000_0001, 0xffff)
    longest = Math.max(longest, performance.now() - since)
    since = performance.now()
  }
  const before = data
  if (longest > 25) t.comment(`a pause was said again after ${longest} ms only: it may have been over`)
  else t.ok(before < 8_000_000 / 4096, `${before} packets, and then none`)
  wire.pause(0b0000_0001, 0)
  await done
  t.ok(data >= 8_000_000 / 4096, 'it went on')
})

t.test('a pause of another priority stops nothing', { skip }, async t => {
  const made = ready(t)
  const timer = setInterval(() => made.wire.pause(0b0000_1000, 0xffff), 5)
  t.teardown(() => clearInterval(timer))
  await transfer(t, made, 'unpaused', 2_000_000)
})

t.test('what cannot be is said', { skip }, async t => {
  const ns = new Namespaces(t)
  const name = ns.add('h')
  const refused = async (flags: string[]) => {
    const within = ['ip', 'netns', 'exec', name]
    const folder = await scratch(t)
    const place = ['--socket', join(folder, 's'), '--inbox', join(folder, 'in'), '--log-level', 'silent']
    return await new Run(t, ['daemon', ...place, ...flags], undefined, within).ended
  }
  const packet = ['--io', 'packet', '--address', '127.0.0.1']
  const results = await Promise.all([
    refused([...packet, '--port', '5000']),
    refused([...packet, '--interface', 'eth9']),
    refused(['--io', 'dgram', '--address', '127.0.0.1', '--interface', 'lo']),
  ])
  t.match(results, [
    { code: 1, stderr: /4791, not 5000.*WEIR_BAD_ARGUMENT/ },
    { code: 1, stderr: /interface eth9 is not there.*WEIR_BAD_ARGUMENT/ },
    {
      code: 1,
      stderr:
        /--interface has no effect while --io is .*: leave it out, or set --io to packet.*WEIR_BAD_ARGUMENT/,
    },
  ])
})
