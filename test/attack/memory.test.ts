/**
 * Peers that access foreign memory: that of another connection, whose keys and addresses they know, and that
 * of a file that they have sent and that is being stored. Each test says how many packets the attack takes.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { DEFAULT_DOMAIN } from '../../lib/qp/memory/memory.js'
import { type SendWork, WorkOpcode } from '../../lib/qp/queues/work.js'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND } from '../../lib/time/nanos.js'
import type { FileStore } from '../../lib/transfer/file/file.js'
import { createDigest } from '../../lib/transfer/protocol/digest.js'
import {
  decodeMessage,
  encodeMessage,
  GET_PRIVATE_DATA,
  type Offer,
  TRANSFER_PORT,
  type TransferMessage,
} from '../../lib/transfer/protocol/messages.js'
import { App, makePair, memoryOf, type Pair, pattern } from '../nic/pair.js'
import { drawnSeed } from '../support/seeds.js'
import { serviceIn } from '../support/transfer-service.js'

const CHUNK = 16_384
const CHUNKS = 4
const SIZE = CHUNK * CHUNKS

/** Host `a` takes and serves files; `b` attacks. @param slow rounds for which a chunk waits before the disk takes it */
async function world(t: Test, slow: () => number = () => 0) {
  const pair = makePair({ poolSize: 4000 })
  const folder = t.testdir({ in: {}, share: {} })
  writeFileSync(join(folder, 'share', 'secret'), pattern(1, SIZE))
  const time = { now: () => pair.network.now, wake: () => pair.kick() }
  const wrap = (store: FileStore) => slowly(store, slow)
  const service = await serviceIn(folder, pair.a, { time, wrap, chunkBytes: CHUNK, slots: 8 })
  t.teardown(() => service.close(0))
  const until = async (holds: () => boolean) => {
    for (let round = 0; !holds() && round < 100_000; round++) {
      pair.network.runUntil(pair.network.now + MILLISECOND / 10)
      // The disk takes real time, and more of it on a busy machine.
      await (round < 2000 ? turn() : sleep(1))
    }
    return holds()
  }
  return { pair, service, until, file: join(folder, 'in', 'file') }
}

/** A disk that needs some rounds for each chunk. It reads the bytes from memory after these rounds. */
function slowly(store: FileStore, rounds: () => number): FileStore {
  return {
    open: async offer => {
      const sink = await store.open(offer)
      const write = sink.write.bind(sink)
      sink.write = async (bytes, position) => {
        for (let left = rounds(); left > 0; left--) await turn()
        await write(bytes, position)
      }
      return sink
    },
  }
}

/** An end of the transfer protocol that sends anything. */
class Rogue extends App {
  readonly #pair: Pair
  #lastId = 100

  constructor(pair: Pair, privateData?: Uint8Array) {
    super(pair.b)
    this.#pair = pair
    pair.b.connect(pair.network.now, pair.a.address, TRANSFER_PORT, this, { privateData })
    if (!pair.until(() => this.log.includes('established'))) throw new Error(`${this.log}`)
  }

  say(message: TransferMessage): void {
    this.post(Buffer.from(encodeMessage(message)), { opcode: WorkOpcode.SEND })
  }

  heard(body: TransferMessage['body']): TransferMessage | undefined {
    return this.log
      .filter(line => line.startsWith('received '))
      .map(line => decodeMessage(Buffer.from(line.slice(9), 'latin1')))
      .find(message => message.body === body)
  }

  /** Posts work on memory with these bytes. Returns its id. */
  post(bytes: Buffer, work: Partial<SendWork>): number {
    const id = ++this.#lastId
    const region = memoryOf(this.#pair.b, bytes)
    const common = { id, opcode: WorkOpcode.SEND, region, offset: 0, length: bytes.length }
    this.connection!.postSend(this.#pair.network.now, { ...common, ...work })
    this.#pair.kick()
    return id
  }

  /** How the work of that id ended. */
  result(id: number): string | undefined {
    return this.log.find(line => line.startsWith(`completion ${id} `))?.split(' ')[2]
  }
}

const offer: Offer = {
  version: 1,
  name: 'file',
  directory: '',
  size: SIZE,
  mode: 0o644,
  mtimeMs: 0,
  digest: 'XXH64',
  overwrite: true,
  ring: null,
  transfer: new Uint8Array(),
}

async function digestOf(bytes: Uint8Array): Promise<Buffer> {
  const digest = createDigest('XXH64')
  digest.update(bytes)
  return Buffer.from(digest.finish())
}

/** Where a session's ring is: Ready names the sender's, Offer the getter's. */
async function rings({ pair, until }: Awaited<ReturnType<typeof world>>) {
  const sender = new Rogue(pair)
  sender.say({ body: 'offer', offer })
  const getter = new Rogue(pair, GET_PRIVATE_DATA)
  const transfer = new Uint8Array()
  getter.say({ body: 'request', request: { version: 1, path: 'secret', digest: 'XXH64', transfer } })
  await until(() => sender.heard('ready') !== undefined && getter.heard('offer') !== undefined)
  const ready = sender.heard('ready')
  const offered = getter.heard('offer')
  if (ready?.body !== 'ready' || offered?.body !== 'offer') throw new Error('no rings')
  getter.say({ body: 'ready', ready: { ...ready.ready, rkey: 0, address: 0, slots: CHUNKS } })
  await until(() => getter.heard('filled') !== undefined)
  return { sender, getter, receiving: ready.ready, serving: offered.offer.ring! }
}

t.test('who knows the key of another connection does nothing with it: 1 packet each', async t => {
  const w = await world(t)
  const { pair, until, file } = w
  const { sender, getter, receiving, serving } = await rings(w)
  const content = pattern(2, SIZE)
  const ids = [0, 1, 2].map(chunk => writeChunk(sender, receiving, content, chunk))
  t.ok(await until(() => ids.every(id => sender.result(id) === 'SUCCESS')))
  const [ringTo, ringFrom] = [receiving.rkey, serving.rkey].map(key => pair.a.memory.find(key)!)
  const before = [ringTo!, ringFrom!].map(({ bytes }) => Buffer.from(bytes!))
  const named = { remoteAddress: receiving.address, rkey: receiving.rkey }
  const attacks: [string, number, Partial<SendWork>][] = [
    ['WRITE', 3000, { ...named, opcode: WorkOpcode.RDMA_WRITE }],
    [
      'WRITE with immediate',
      3000,
      { ...named, opcode: WorkOpcode.RDMA_WRITE_WITH_IMM, immediate: CHUNKS - 1 },
    ],
    ['fetch-and-add', 8, { ...named, opcode: WorkOpcode.FETCH_AND_ADD, compareOrAdd: 1n }],
    ['compare-and-swap', 8, { ...named, opcode: WorkOpcode.COMPARE_AND_SWAP, compareOrAdd: 0n, swap: 1n }],
    ['READ', 3000, { opcode: WorkOpcode.RDMA_READ, remoteAddress: serving.address, rkey: serving.rkey }],
    ['SEND with invalidate', 8, { opcode: WorkOpcode.SEND_WITH_INV, invalidateKey: receiving.rkey }],
  ]
  for (const [index, [name, bytes, work]] of attacks.entries()) {
    const other = new Rogue(pair, index % 2 === 0 ? undefined : GET_PRIVATE_DATA)
    const landing = Buffer.alloc(bytes, 0xee)
    const id = other.post(landing, work)
    t.ok(await until(() => other.result(id) !== undefined), name)
    t.equal(other.result(id), 'REM_ACCESS_ERR', `${name}: refused`)
    t.ok(
      landing.every(byte => byte === 0xee),
      `${name}: nothing has been told`,
    )
    t.equal(pair.a.dropTotals.sum(pair.a.table.flows).refusedAccess, index + 1, `${name}: counted`)
  }
  for (const [i, ring] of [ringTo!, ringFrom!].entries()) {
    t.ok(ring.valid, 'the key is still one')
    t.ok(Buffer.from(ring.bytes!).equals(before[i]!), 'the ring is as it was')
  }
  t.equal(getter.closed + sender.closed, 0, 'the connections that have the keys go on')
  const read = getter.post(Buffer.alloc(CHUNK), {
    opcode: WorkOpcode.RDMA_READ,
    remoteAddress: serving.address,
    rkey: serving.rkey,
  })
  t.ok(await until(() => getter.result(read) === 'SUCCESS'))
  writeChunk(sender, receiving, content, CHUNKS - 1)
  sender.say({ body: 'commit', commit: { digest: await digestOf(content) } })
  t.ok(await until(() => sender.heard('done') !== undefined))
  t.ok(readFileSync(file).equals(content))
  await leave(w, sender, getter)
})

t.test('every connection of a transfer has a protection domain of its own', async t => {
  const w = await world(t)
  const { receiving, serving, sender, getter } = await rings(w)
  const domains = [receiving, serving].map(({ rkey }) => w.pair.a.memory.find(rkey)!.domain)
  t.not(domains[0], domains[1])
  t.notOk(domains.includes(DEFAULT_DOMAIN))
  await leave(w, sender, getter)
})

/** Ends the connections, so that files are closed. */
async function leave({ pair, until, service }: Awaited<ReturnType<typeof world>>, ...rogues: Rogue[]) {
  for (const { connection } of rogues) connection!.disconnect(pair.network.now)
  pair.kick()
  await until(() => service.count === 0)
}

type Ring = { rkey: number; address: number }

function writeChunk(rogue: Rogue, ring: Ring, content: Buffer, chunk: number): number {
  return rogue.post(content.subarray(chunk * CHUNK, (chunk + 1) * CHUNK), {
    opcode: WorkOpcode.RDMA_WRITE_WITH_IMM,
    remoteAddress: ring.address + chunk * CHUNK,
    rkey: ring.rkey,
    immediate: chunk,
  })
}

t.test('a sender that writes into the ring again never gets a file of another digest: 1 packet', async t => {
  const random = new Random(drawnSeed(t))
  const w = await world(t, () => random.below(30))
  const { pair, until, service, file } = w
  const ends = { delivered: 0, failed: 0, refused: 0 }
  for (let run = 0; run < 20; run++) {
    const sender = new Rogue(pair)
    sender.say({ body: 'offer', offer: { ...offer, name: `file${run}` } })
    await until(() => sender.heard('ready') !== undefined)
    const answer = sender.heard('ready')
    if (answer?.body !== 'ready') throw new Error(`run ${run}: ${sender.log}`)
    const ring = answer.ready
    const content = pattern(run, SIZE)
    const digest = await digestOf(content)
    // The other bytes are sent once: before, between or after the chunks and the commit, at once or some
    // rounds later.
    const moment = random.below(CHUNKS + 2)
    const slot = random.below(CHUNKS)
    const delay = random.below(3) === 0 ? 0 : random.below(40)
    for (let step = 0; step <= CHUNKS + 1; step++) {
      if (step === moment) {
        let left = delay
        await until(() => left-- <= 0)
        const offset = random.below(CHUNK - 1000)
        const remoteAddress = ring.address + slot * CHUNK + offset
        sender.post(Buffer.alloc(1000, 0xee), {
          opcode: WorkOpcode.RDMA_WRITE,
          remoteAddress,
          rkey: ring.rkey,
        })
      }
      if (step < CHUNKS) writeChunk(sender, ring, content, step)
      else if (step === CHUNKS) sender.say({ body: 'commit', commit: { digest } })
    }
    t.ok(await until(() => sender.heard('done') !== undefined || sender.closed > 0 || !!sender.heard('fail')))
    if (sender.closed === 0) sender.connection!.disconnect(pair.network.now)
    pair.kick()
    t.ok(await until(() => service.count === 0), `run ${run} ends`)
    const path = `${file}${run}`
    if (!existsSync(path)) ends.failed++
    else {
      ends.delivered++
      t.same(
        await digestOf(readFileSync(path)),
        digest,
        `run ${run}: moment ${moment}, slot ${slot}, delay ${delay}`,
      )
    }
  }
  ends.refused = pair.a.dropTotals.sum(pair.a.table.flows).refusedAccess
  t.comment(JSON.stringify(ends))
  t.ok(
    ends.delivered > 0 && ends.failed > 0 && ends.refused > 0,
    'writes came too early, in time and too late',
  )
})
