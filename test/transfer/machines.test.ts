/** The protocol's state machines against each other and against peers that break the rules. */
import fc from 'fast-check'
import t from 'tap'
import { ChunkPlan, checkRing, REPEATS_MAX, ringBytesOf } from '../../lib/transfer/protocol/chunk-plan.js'
import { GetterMachine } from '../../lib/transfer/protocol/getter-machine.js'
import type { Offer, Ready, SenderFigures, TransferMessage } from '../../lib/transfer/protocol/messages.js'
import { ReceiverMachine } from '../../lib/transfer/protocol/receiver-machine.js'
import { SenderMachine } from '../../lib/transfer/protocol/sender-machine.js'
import { ServerMachine } from '../../lib/transfer/protocol/server-machine.js'
import { advanceCount, latestCount, wrapped } from '../../lib/transfer/protocol/wrapped-count.js'
import { drawnSeed } from '../support/seeds.js'

const CHUNK = 4096
const seed = drawnSeed(t)

const offerOf = (size: number): Offer => ({
  version: 1,
  name: 'a',
  directory: '',
  size,
  mode: 0o644,
  mtimeMs: 0,
  digest: 'XXH64',
  overwrite: false,
  ring: null,
  transfer: new Uint8Array(),
})
const ready: Ready = {
  rkey: 7,
  address: 65536,
  chunkBytes: CHUNK,
  slots: 4,
  resumeBytes: 0,
  resumeDigest: new Uint8Array(),
}
const message = (body: string, content: object) => ({ body, [body]: content }) as unknown as TransferMessage

function streaming(size: number, more: Partial<Ready> = {}): SenderMachine {
  const sender = new SenderMachine(size, CHUNK * 4, 'h2')
  sender.onOffered()
  sender.onMessage(message('ready', { ...ready, ...more }))
  return sender
}

function receiving(size: number, resumeBytes = 0): ReceiverMachine {
  const receiver = new ReceiverMachine(CHUNK)
  receiver.onMessage(message('offer', offerOf(size)))
  receiver.onOpened(resumeBytes, 4)
  return receiver
}

t.test('chunks cover what is left of the file, once', async t => {
  fc.assert(
    fc.property(
      fc.nat(1 << 20),
      fc.nat(1 << 20),
      fc.integer({ min: CHUNK, max: 1 << 18 }),
      (a, b, chunkBytes) => {
        const [resume, size] = [Math.min(a, b), Math.max(a, b)]
        const plan = new ChunkPlan(size, resume, chunkBytes)
        let at = resume
        for (let i = 0; i < plan.chunks; i++) {
          if (plan.positionOf(i) !== at || plan.lengthOf(i) < 1 || plan.lengthOf(i) > chunkBytes) return false
          at += plan.lengthOf(i)
        }
        return at === size
      },
    ),
    { seed },
  )
  t.throws(() => new ChunkPlan(10, 11, CHUNK), { code: 'WEIR_PROTOCOL' })
  t.throws(() => new ChunkPlan(-1, 0, CHUNK), { code: 'WEIR_PROTOCOL' })
  t.throws(() => new ChunkPlan(2 ** 53, 0, CHUNK), { code: 'WEIR_PROTOCOL' })
  for (const [chunk, slots] of [
    [1, 1],
    [CHUNK, 0],
    [CHUNK, 257],
    [CHUNK, 1.5],
    [2 ** 24, 5],
    [2 ** 25, 1],
  ] as const) {
    t.throws(() => checkRing(chunk, slots), { code: 'WEIR_PROTOCOL' }, `${slots} × ${chunk}`)
  }
})

t.test('any interleaving delivers every chunk in order, and neither ring is ever overrun', async () => {
  const run = (size: number, resume: number, remoteSlots: number, choices: number[]) => {
    const sender = streaming(size, { slots: remoteSlots, resumeBytes: resume })
    const receiver = new ReceiverMachine(CHUNK)
    receiver.onMessage(message('offer', offerOf(size)))
    receiver.onOpened(resume, remoteSlots)
    const wire: number[] = []
    const credits: number[] = []
    const inLocal = new Map<number, number>()
    const inRemote = new Map<number, number>()
    const written: number[] = []
    const reading: number[] = []
    const writing: number[] = []
    const moves: (() => boolean)[] = [
      () => {
        const chunk = sender.chunks.toLoad
        if (chunk < 0) return false
        const slot = sender.chunks.localSlotOf(chunk)
        if (inLocal.has(slot)) throw new Error(`local slot ${slot} is overrun`)
        inLocal.set(slot, chunk)
        sender.chunks.onLoading()
        reading.push(chunk)
        return true
      },
      () => {
        if (reading.shift() === undefined) return false
        sender.chunks.onLoaded()
        return true
      },
      () => {
        const chunk = sender.chunks.toPost
        if (chunk < 0) return false
        wire.push(chunk)
        sender.chunks.onPosted()
        return true
      },
      () => {
        const chunk = wire.shift()
        if (chunk === undefined) return false
        const slot = (sender.remoteAddressOf(chunk) - ready.address) / CHUNK
        if (slot !== receiver.chunks.slotOf(chunk) || inRemote.has(slot))
          throw new Error(`slot ${slot} is overrun`)
        inRemote.set(slot, chunk)
        receiver.onChunk(chunk, receiver.chunks.plan!.lengthOf(chunk))
        inLocal.delete(sender.chunks.localSlotOf(chunk))
        sender.onCompleted(chunk)
        return true
      },
      () => {
        if (receiver.chunks.toWrite < 0) return false
        writing.push(receiver.chunks.toWrite)
        receiver.chunks.onWriting()
        return true
      },
      () => {
        const chunk = writing.shift()
        if (chunk === undefined) return false
        written.push(chunk)
        inRemote.delete(receiver.chunks.slotOf(chunk))
        receiver.chunks.onWritten()
        return true
      },
      () => receiver.chunks.creditDue && credits.push(receiver.chunks.takeCredit()) > 0,
      () => {
        const chunks = credits.shift()
        if (chunks === undefined) return false
        sender.onMessage(message('credit', { chunks }))
        return true
      },
    ]
    // The first possible move, beginning with a random one, until none is possible.
    for (let turn = 0, moved = true; moved; turn++) {
      const pick = choices[turn % choices.length]!
      moved = moves.some((_move, i) => moves[(pick + i) % moves.length]!())
    }
    if (sender.failure ?? receiver.failure) throw sender.failure ?? receiver.failure!
    if (written.length !== receiver.chunks.plan!.chunks || written.some((chunk, i) => chunk !== i))
      return false
    if (!sender.chunks.readyToCommit) return false
    receiver.onMessage(message('commit', { digest: new Uint8Array(8) }))
    return receiver.chunks.readyToFinish
  }
  fc.assert(
    fc.property(
      fc.nat(40 * CHUNK),
      fc.nat(CHUNK * 3),
      fc.integer({ min: 1, max: 9 }),
      fc.array(fc.nat(7), { minLength: 1, maxLength: 50 }),
      (size, resume, slots, choices) => run(size + resume, resume, slots, choices),
    ),
    { seed },
  )
})

t.test('a sender does not believe everything', async t => {
  const cases: [string, (sender: SenderMachine) => void][] = [
    ['a second Ready', sender => sender.onMessage(message('ready', ready))],
    ['Done before Commit', sender => sender.onMessage(message('done', { path: 'a' }))],
    ['an empty message', sender => sender.onMessage({})],
    ['a message of the other side', sender => sender.onMessage(message('offer', offerOf(1)))],
    ['credit for chunks that were never sent', sender => sender.onMessage(message('credit', { chunks: 1 }))],
    ['credit that goes back', sender => sender.onMessage(message('credit', { chunks: 2 ** 32 - 1 }))],
    ['a chunk again that has no digest', sender => sender.onMessage(message('again', { chunk: 0 }))],
  ]
  for (const [what, act] of cases) {
    const sender = streaming(CHUNK * 9)
    act(sender)
    t.equal(sender.state, 'failed', what)
    t.equal(sender.failure?.code, 'WEIR_PROTOCOL', what)
    t.equal(sender.chunks.toLoad, -1)
  }
  const bad: Partial<Ready>[] = [
    { chunkBytes: 1 },
    { slots: 0 },
    { slots: 1e6 },
    { resumeBytes: CHUNK * 9 + 1 },
  ]
  for (const more of bad)
    t.equal(streaming(CHUNK * 9, more).failure?.code, 'WEIR_PROTOCOL', JSON.stringify(more))
})

t.test('a receiver does not believe everything', async t => {
  const cases: [string, (receiver: ReceiverMachine) => void][] = [
    ['a second Offer', receiver => receiver.onMessage(message('offer', offerOf(1)))],
    ['an empty message', receiver => receiver.onMessage({})],
    [
      'Commit before the chunks',
      receiver => receiver.onMessage(message('commit', { digest: new Uint8Array() })),
    ],
    ['a chunk out of order', receiver => receiver.onChunk(1, CHUNK)],
    ['a short chunk', receiver => receiver.onChunk(0, CHUNK - 1)],
    ['a long last chunk', receiver => [0, 1, 2].forEach(chunk => void receiver.onChunk(chunk, CHUNK))],
    [
      'a chunk after the last',
      receiver => [CHUNK, CHUNK, 5, 1].forEach((bytes, chunk) => void receiver.onChunk(chunk, bytes)),
    ],
  ]
  for (const [what, act] of cases) {
    const receiver = receiving(CHUNK * 2 + 5)
    act(receiver)
    t.equal(receiver.state, 'failed', what)
    t.equal(receiver.failure?.code, 'WEIR_PROTOCOL', what)
  }
  const greedy = receiving(CHUNK * 9)
  for (let chunk = 0; chunk < 4; chunk++) greedy.onChunk(chunk, CHUNK)
  t.equal(greedy.state, 'receiving')
  greedy.onChunk(4, CHUNK)
  t.match(greedy.failure?.message, /without credit/)
  const early = new ReceiverMachine(CHUNK)
  early.onChunk(0, 1)
  t.equal(early.state, 'failed', 'a chunk before Ready')
  const future = new ReceiverMachine(CHUNK)
  future.onMessage(message('offer', { ...offerOf(1), version: 2 }))
  t.match(future.failure, { code: 'WEIR_REJECTED', message: /version 2/ })
})

const ring = { rkey: 7, address: 65536, bytes: 4 * CHUNK }
const path: SenderFigures = {
  rateBps: 1e9,
  windowBytes: 3 * CHUNK,
  pathQueueBytes: 0,
  pathHops: 0,
  rttNs: 1,
  baseRttNs: 1,
  controller: 'cubic',
  controllerReason: 'no switch has told',
  retransmittedBytes: 0,
  spuriousRetransmissions: 0,
  timeouts: 0,
  pathMoves: 0,
}
const filled = (chunks: number, windowBytes = path.windowBytes) =>
  message('filled', { chunks, path: { ...path, windowBytes } })
const askedReady = (more: Partial<Ready> = {}) => message('ready', { ...ready, rkey: 0, address: 0, ...more })

function getting(size: number, resumeBytes = 0, chunkBytes = CHUNK, slots = 4): GetterMachine {
  const getter = new GetterMachine('XXH64', 'h1')
  getter.onAsked()
  getter.onMessage(message('offer', { ...offerOf(size), ring }))
  getter.onOpened(resumeBytes, chunkBytes, slots)
  return getter
}

function serving(
  size: number,
  more: Partial<Ready> = {},
  ringBytes = 4 * CHUNK,
  digestBytes = 0,
): ServerMachine {
  const server = new ServerMachine(ringBytes)
  server.onMessage(message('request', { version: 1, path: 'a', digest: 'XXH64' }))
  server.onOffered(size, digestBytes)
  server.onMessage(askedReady(more))
  return server
}

t.test('fetched: any interleaving brings every byte in order, within ring and window', async () => {
  const run = (size: number, resume: number, slots: number, windows: number[], choices: number[]) => {
    const chunkBytes = 2 * CHUNK
    const server = serving(size, { resumeBytes: resume, chunkBytes, slots }, chunkBytes * slots)
    const getter = getting(size, resume, chunkBytes, slots)
    /** The contents of each slot of both rings: the file position of its first byte. */
    const theirs: number[] = []
    const toServer: TransferMessage[] = []
    const toGetter: TransferMessage[] = []
    const reads: { slot: number; offset: number; length: number; position: number }[] = []
    const written: number[] = []
    /** Local slots whose chunk is not in the file yet. */
    const ours = new Set<number>()
    let next = resume
    let [inFlight, windowNow] = [0, 64 * 1024]
    const loading: number[] = []
    const writing: number[] = []
    const moves: (() => boolean)[] = [
      () => {
        const chunk = server.chunks.toLoad
        if (chunk < 0) return false
        const slot = server.chunks.localSlotOf(chunk)
        if (reads.some(read => read.slot === slot)) throw new Error(`slot ${slot} is filled while it is read`)
        theirs[slot] = Number.NaN
        server.chunks.onLoading()
        loading.push(chunk)
        return true
      },
      () => {
        const chunk = loading.shift()
        if (chunk === undefined) return false
        theirs[server.chunks.localSlotOf(chunk)] = server.chunks.plan!.positionOf(chunk)
        server.chunks.onLoaded()
        return true
      },
      () => {
        if (server.chunks.toPost < 0) return false
        toGetter.push(filled(server.takeFilled().chunks, windows[toGetter.length % windows.length]!))
        return true
      },
      () => {
        const said = toGetter.shift()
        if (!said) return false
        if (said.body === 'filled') windowNow = said.filled.path!.windowBytes || 64 * 1024
        getter.onMessage(said)
        return true
      },
      () => {
        const piece = getter.pieceToRead()
        if (!piece) return false
        const position = theirs[piece.slot]! + piece.offset
        if (Number.isNaN(position)) throw new Error(`slot ${piece.slot} is read while it is filled`)
        if (inFlight > 0 && inFlight + piece.length > windowNow) throw new Error('beyond the window')
        if (piece.offset === 0 && ours.has(piece.slot)) throw new Error(`slot ${piece.slot} is overrun`)
        if (position !== next) throw new Error(`${position} is asked for where ${next} is due`)
        ours.add(piece.slot)
        next = position + piece.length
        inFlight += piece.length
        reads.push({ ...piece, position })
        getter.onAskedFor(piece)
        return true
      },
      () => {
        const read = reads.shift()
        if (!read) return false
        if (theirs[read.slot]! + read.offset !== read.position)
          throw new Error('overwritten before it was read')
        inFlight -= read.length
        getter.onRead(read.length)
        return true
      },
      () => {
        if (getter.chunks.toWrite < 0) return false
        writing.push(getter.chunks.toWrite)
        getter.chunks.onWriting()
        return true
      },
      () => {
        const chunk = writing.shift()
        if (chunk === undefined) return false
        written.push(chunk)
        ours.delete(getter.chunks.slotOf(chunk))
        getter.chunks.onWritten()
        return true
      },
      () =>
        getter.chunks.creditDue &&
        toServer.push(message('credit', { chunks: getter.chunks.takeCredit() })) > 0,
      () => {
        const said = toServer.shift()
        if (said) server.onMessage(said)
        return said !== undefined
      },
      () => {
        if (!server.chunks.readyToCommit) return false
        server.chunks.onCommitted()
        return toGetter.push(message('commit', { digest: new Uint8Array(8) })) > 0
      },
    ]
    for (let round = 0, moved = true; moved; round++) {
      const pick = choices[round % choices.length]!
      moved = moves.some((_move, i) => moves[(pick + i) % moves.length]!())
    }
    const failure = server.failure ?? getter.failure
    if (failure) throw failure
    if (written.length !== getter.chunks.plan!.chunks || written.some((chunk, i) => chunk !== i)) return false
    if (!getter.chunks.readyToFinish || getter.arrivedBytes !== size || next !== size) return false
    getter.onFinished()
    server.onMessage(message('done', { path: '' }))
    return getter.state === 'done' && server.state === 'done'
  }
  fc.assert(
    fc.property(
      fc.nat(40 * CHUNK),
      fc.nat(CHUNK * 3),
      fc.integer({ min: 1, max: 9 }),
      fc.array(fc.nat(20 * CHUNK), { minLength: 1, maxLength: 5 }),
      fc.array(fc.nat(10), { minLength: 1, maxLength: 50 }),
      (size, resume, slots, windows, choices) => run(size + resume, resume, slots, windows, choices),
    ),
    { seed },
  )
})

t.test('a window that lets less than a packet go lets one piece go', async t => {
  const getter = getting(CHUNK * 9)
  getter.onMessage(filled(4, 1))
  const piece = getter.pieceToRead()!
  t.same(piece, { chunk: 0, slot: 0, from: 0, offset: 0, length: CHUNK })
  getter.onAskedFor(piece)
  t.equal(getter.pieceToRead(), null)
  getter.onRead(CHUNK)
  t.match(getter.pieceToRead(), { slot: 1 })
})

t.test('a getter does not believe everything', async t => {
  const cases: [string, (getter: GetterMachine) => void][] = [
    ['a second Offer', getter => getter.onMessage(message('offer', { ...offerOf(1), ring }))],
    ['an empty message', getter => getter.onMessage({})],
    ['a message of the other side', getter => getter.onMessage(message('credit', { chunks: 0 }))],
    ['Commit before the chunks', getter => getter.onMessage(message('commit', { digest: new Uint8Array() }))],
    ['more chunks than slots', getter => getter.onMessage(filled(5))],
    ['a count that goes back', getter => [filled(2), filled(1)].forEach(next => void getter.onMessage(next))],
    ['a chunk again that was not asked for', getter => getter.onMessage(message('again', { chunk: 0 }))],
    ['Done of its own', getter => getter.onMessage(message('done', { path: '' }))],
  ]
  for (const [what, act] of cases) {
    const getter = getting(CHUNK * 9)
    act(getter)
    t.equal(getter.failure?.code, 'WEIR_PROTOCOL', what)
    t.equal(getter.pieceToRead(), null)
    t.equal(getter.chunks.toWrite, -1)
  }
  const short = getting(CHUNK * 2)
  short.onMessage(filled(3))
  t.equal(short.failure?.code, 'WEIR_PROTOCOL', 'more chunks than the file has')
  const offers: [object, string][] = [
    [{ ring: null }, 'WEIR_PROTOCOL'],
    [{ digest: 'SHA256' }, 'WEIR_PROTOCOL'],
    [{ size: 2 ** 53 }, 'WEIR_PROTOCOL'],
    [{ mtimeMs: Number.NaN }, 'WEIR_PROTOCOL'],
    [{ mtimeNanos: 1e9 }, 'WEIR_PROTOCOL'],
    [{ version: 2 }, 'WEIR_REJECTED'],
  ]
  for (const [more, code] of offers) {
    const getter = new GetterMachine('XXH64', 'h1')
    getter.onAsked()
    getter.onMessage(message('offer', { ...offerOf(1), ring, ...more }))
    t.equal(getter.failure?.code, code, JSON.stringify(more))
  }
  const refused = new GetterMachine('XXH64', 'h1')
  refused.onAsked()
  refused.onMessage(message('refuse', { reason: 'NOT_FOUND', text: 'no' }))
  t.match(refused.failure, { code: 'WEIR_NO_FILE', message: 'h1: no' })
})

t.test('a server does not believe everything', async t => {
  const cases: [string, (server: ServerMachine) => void][] = [
    ['a second Request', server => server.onMessage(message('request', { version: 1, path: 'b' }))],
    ['a second Ready', server => server.onMessage(askedReady())],
    ['an empty message', server => server.onMessage({})],
    ['credit for what was not filled', server => server.onMessage(message('credit', { chunks: 1 }))],
    ['Done before Commit', server => server.onMessage(message('done', { path: '' }))],
  ]
  for (const [what, act] of cases) {
    const server = serving(CHUNK * 9)
    act(server)
    t.equal(server.failure?.code, 'WEIR_PROTOCOL', what)
    t.equal(server.chunks.toLoad, -1)
  }
  const bad: Partial<Ready>[] = [
    { chunkBytes: 1 },
    { slots: 0 },
    { slots: 5 },
    { resumeBytes: CHUNK * 9 + 1 },
  ]
  for (const more of bad)
    t.equal(serving(CHUNK * 9, more).failure?.code, 'WEIR_PROTOCOL', JSON.stringify(more))
  const quick = serving(CHUNK)
  quick.chunks.onLoading()
  quick.chunks.onLoaded()
  quick.takeFilled()
  quick.chunks.onCommitted()
  quick.onMessage(message('done', { path: '' }))
  t.same([quick.failure, quick.state, quick.chunks.credited], [null, 'done', 1], 'Done is the last credit')
  const future = new ServerMachine(CHUNK)
  future.onMessage(message('request', { version: 2, path: 'a' }))
  t.match(future.failure, { code: 'WEIR_REJECTED', message: /version 2/ })
})

t.test('an end that has the file does not repeat whatever it is asked for', async t => {
  const ends: [string, () => SenderMachine | ServerMachine][] = [
    [
      'sender',
      () => {
        const sender = new SenderMachine(CHUNK * 9, ringBytesOf(CHUNK, 4), 'h2', 8)
        sender.onOffered()
        sender.onMessage(message('ready', { ...ready, chunkDigests: true }))
        return sender
      },
    ],
    ['server', () => serving(CHUNK * 9, { chunkDigests: true }, ringBytesOf(CHUNK, 4), 8)],
  ]
  for (const [who, make] of ends) {
    const again = (end: SenderMachine | ServerMachine, chunk: number) =>
      end.onMessage(message('again', { chunk }))
    const posted = () => {
      const end = make()
      for (let chunk = 0; chunk < 2; chunk++) {
        end.chunks.onLoading()
        end.chunks.onLoaded()
        end.chunks.onPosted()
      }
      return end
    }
    for (const chunk of [2, 9, 2 ** 31, 2 ** 32 - 1]) {
      const end = posted()
      again(end, chunk)
      t.match(end.failure, { code: 'WEIR_PROTOCOL', message: /2 were sent/ }, `${who}: chunk ${chunk}`)
    }
    const twice = posted()
    again(twice, 0)
    t.equal(twice.chunks.toReload, 0)
    again(twice, 1)
    t.match(twice.failure, { code: 'WEIR_PROTOCOL', message: /before another has come/ }, who)
    const endless = posted()
    let times = 0
    while (!endless.ended) {
      again(endless, 1)
      if (endless.chunks.toReload < 0) break
      endless.chunks.onReloading()
      endless.chunks.onReloaded()
      t.equal(endless.chunks.toRepeat, 1)
      endless.onRepeated()
      if (endless instanceof SenderMachine) endless.onRepeatCompleted()
      times++
    }
    t.equal(times, REPEATS_MAX, `${who}: so often, and no more`)
    t.equal(endless.failure?.code, 'WEIR_PROTOCOL')
  }
})

t.test('an end that writes the file asks for so many chunks, and no more', async t => {
  const chunks = REPEATS_MAX + 5
  const receiver = new ReceiverMachine(CHUNK)
  receiver.onMessage(message('offer', { ...offerOf(chunks * CHUNK), chunkDigests: true }))
  receiver.onOpened(chunks * CHUNK, 1)
  for (let chunk = 0; chunk < REPEATS_MAX; chunk++) {
    t.equal(receiver.onChunk(chunk, 8), chunk, 'the digest alone moves')
    receiver.chunks.onDamaged()
    receiver.chunks.onAskedAgain()
    t.equal(receiver.chunks.toWrite, -1)
    t.equal(receiver.onChunk(chunk, CHUNK + 8), chunk)
    receiver.chunks.onWriting()
    receiver.chunks.onWritten()
  }
  receiver.onChunk(REPEATS_MAX, 8)
  receiver.chunks.onDamaged()
  t.match(receiver.failure, { reason: 'PART_DIFFERS', code: 'WEIR_DIGEST_MISMATCH' })
  t.equal(receiver.chunks.worthBytes, REPEATS_MAX * CHUNK, 'what comes before it is right')
  t.match(receiver.failure?.message, /more than 1024 chunks .* all from byte 4194304 on/)
})

t.test('counts go on beyond 2^32', async t => {
  t.equal(advanceCount(2 ** 32 - 1, 1, 2 ** 32 + 5), 2 ** 32 + 1)
  t.equal(advanceCount(2 ** 33 + 3, 3, 2 ** 33 + 3), 2 ** 33 + 3)
  t.equal(advanceCount(2 ** 33 + 3, 2, 2 ** 33 + 9), -1, 'back')
  t.equal(advanceCount(7, 9, 8), -1, 'too far')
  for (const count of [0, 2 ** 32 - 1, 2 ** 32, 2 ** 33 + 7])
    t.equal(latestCount(count + 5, wrapped(count)), count, `${count}, a little before the last one`)
  t.equal(latestCount(2, 3), 3 - 2 ** 32, 'none from 0 on')
})

t.test('a file with an open end ends with the first chunk that is shorter than the others', async t => {
  const open = { ...offerOf(0), version: 2, chunkDigests: true, openEnd: true }
  const DIGEST = 8
  for (const sealBytes of [0, 22])
    for (const last of [0, 1, CHUNK - sealBytes - 1, CHUNK - 1]) {
      const behind = DIGEST + sealBytes
      const receiver = new ReceiverMachine(CHUNK)
      receiver.sealBytes = sealBytes
      receiver.onMessage(message('offer', open))
      receiver.onOpened(0, 4)
      t.equal(receiver.onChunk(0, CHUNK + behind), 0)
      t.ok(receiver.chunks.plan!.isOpen)
      t.equal(receiver.onChunk(1, last + behind), 1)
      t.match(receiver.chunks.plan, { sizeBytes: CHUNK + last, chunks: 2 })
      t.equal(receiver.onChunk(2, behind), -1, 'nothing follows')
      t.equal(receiver.failure?.code, 'WEIR_PROTOCOL')
    }
  const short = new ReceiverMachine(CHUNK)
  short.sealBytes = 22
  short.onMessage(message('offer', open))
  short.onOpened(0, 4)
  t.equal(short.onChunk(0, DIGEST + 21), -1, 'no room for digest and seal')
  t.equal(short.failure?.code, 'WEIR_PROTOCOL')
  for (const wrong of [
    { ...open, version: 1 },
    { ...open, size: 1 },
    { ...open, chunkDigests: false },
    { ...offerOf(5), version: 2 },
  ]) {
    const receiver = new ReceiverMachine(CHUNK)
    receiver.onMessage(message('offer', wrong))
    t.ok(receiver.failure, JSON.stringify(wrong))
  }
  const early = new ReceiverMachine(CHUNK)
  early.onMessage(message('offer', open))
  early.onOpened(0, 4)
  early.onChunk(0, CHUNK + DIGEST)
  early.onMessage(message('commit', { digest: new Uint8Array(DIGEST) }))
  t.equal(early.failure?.code, 'WEIR_PROTOCOL', 'no end has come')
})

t.test('chunks out of a pipe keep their slots until they are credited', async t => {
  const sender = new SenderMachine(Number.POSITIVE_INFINITY, CHUNK * 4 + 320, 'h2', 8)
  sender.onOffered()
  sender.onMessage(message('ready', { ...ready, slots: 2, chunkDigests: true }))
  const { chunks } = sender
  for (let i = 0; i < 2; i++) {
    chunks.onLoading()
    chunks.onLoaded()
    chunks.onPosted()
  }
  sender.onCompleted(0)
  sender.onCompleted(1)
  t.equal(chunks.toLoad, -1, 'the other end may ask for them again')
  sender.onMessage(message('credit', { chunks: 1 }))
  t.equal(chunks.toLoad, 2)
  t.notOk(chunks.readyToCommit)
  chunks.plan!.endAt(2 * CHUNK + 5)
  t.match(chunks.plan, { chunks: 3, sizeBytes: 2 * CHUNK + 5 })

  const plain = new SenderMachine(Number.POSITIVE_INFINITY, CHUNK * 4, 'h2', 8)
  plain.onOffered()
  plain.onMessage(message('ready', ready))
  t.equal(plain.failure?.code, 'WEIR_PROTOCOL', 'without digests of chunks there is no open end')
})
