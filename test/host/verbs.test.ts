/** Every operation between two hosts whose NICs are on threads of their own, both ways, byte for byte. */
import { spawnSync } from 'node:child_process'
import { randomFillSync } from 'node:crypto'
import { Access, Host, type SendWork, WorkOpcode } from '../../lib/index.js'
import { long, usual } from '../support/long.js'
import { loopbackAddress } from '../support/loopback.js'
import { ALL, connected, memory, next, open, PORT } from './hosts.js'

const LENGTH = 300_001

usual('SEND, WRITE, READ and atomics, both ways', async t => {
  const { a, b, ab, ba } = await connected(t)
  const [ma, mb] = [await memory(a, 1 << 20), await memory(b, 1 << 20)]
  const ways = [
    { from: ab, to: ba, mine: ma, theirs: mb },
    { from: ba, to: ab, mine: mb, theirs: ma },
  ]
  for (const { from, to, mine, theirs } of ways) {
    randomFillSync(mine.bytes)
    theirs.bytes.fill(0)
    const remote = { remoteAddress: theirs.region.address, rkey: theirs.region.key }
    const work: SendWork = { id: 1, opcode: WorkOpcode.SEND, region: mine.region, offset: 5, length: LENGTH }
    const expected = mine.bytes.subarray(5, 5 + LENGTH)

    t.ok(to.postReceive({ id: 11, region: theirs.region, offset: 3, length: LENGTH }))
    t.ok(from.postSend(work))
    t.equal(await next(from), `1 SUCCESS ${LENGTH}`)
    t.equal(await next(to), `11 SUCCESS ${LENGTH}`)
    t.ok(theirs.bytes.subarray(3, 3 + LENGTH).equals(expected), 'SEND')
    t.equal(theirs.bytes[2]! + theirs.bytes[3 + LENGTH]!, 0, 'nothing beside it')

    theirs.bytes.fill(0)
    t.ok(to.postReceive({ id: 12, region: theirs.region, offset: 0, length: 0 }))
    const immediate = { opcode: WorkOpcode.RDMA_WRITE_WITH_IMM, immediate: 0xfeedbeef }
    t.ok(from.postSend({ ...work, ...remote, ...immediate, id: 2, remoteAddress: remote.remoteAddress + 7 }))
    t.equal(await next(from), `2 SUCCESS ${LENGTH}`)
    t.equal(await next(to), `12 SUCCESS ${LENGTH} feedbeef`)
    t.ok(theirs.bytes.subarray(7, 7 + LENGTH).equals(expected), 'WRITE')

    randomFillSync(theirs.bytes)
    const wanted = Buffer.from(theirs.bytes.subarray(9, 9 + LENGTH))
    const read = { opcode: WorkOpcode.RDMA_READ, remoteAddress: remote.remoteAddress + 9, id: 3 }
    t.ok(from.postSend({ ...work, ...remote, ...read }))
    t.equal(await next(from), `3 SUCCESS ${LENGTH}`)
    t.ok(mine.bytes.subarray(5, 5 + LENGTH).equals(wanted), 'READ')

    theirs.bytes.writeBigUInt64LE(0xffff_ffff_ffff_fff0n, 64)
    const atomic = {
      ...work,
      remoteAddress: remote.remoteAddress + 64,
      rkey: remote.rkey,
      offset: 8,
      length: 8,
    }
    t.ok(from.postSend({ ...atomic, id: 4, opcode: WorkOpcode.FETCH_AND_ADD, compareOrAdd: 0x1_0000_0020n }))
    t.equal(await next(from), '4 SUCCESS 8')
    t.equal(mine.bytes.readBigUInt64LE(8), 0xffff_ffff_ffff_fff0n, 'what was there')
    t.equal(theirs.bytes.readBigUInt64LE(64), 0x1_0000_0010n, 'the sum, modulo 2^64')
    const swap = {
      opcode: WorkOpcode.COMPARE_AND_SWAP,
      compareOrAdd: 0x1_0000_0010n,
      swap: 0x8123_4567_89ab_cdefn,
    }
    t.ok(from.postSend({ ...atomic, ...swap, id: 5 }))
    t.ok(from.postSend({ ...atomic, ...swap, id: 6, swap: 1n }))
    t.equal(await next(from), '5 SUCCESS 8')
    t.equal(await next(from), '6 SUCCESS 8')
    t.equal(theirs.bytes.readBigUInt64LE(64), 0x8123_4567_89ab_cdefn, 'swapped once')
    t.equal(mine.bytes.readBigUInt64LE(8), 0x8123_4567_89ab_cdefn, 'the second found what the first left')
  }
  const { baseRttNs, sentBytes } = await ab.stats()
  t.ok(baseRttNs > 0 && sentBytes >= 2 * LENGTH)
})

usual('what both ends say at connect, and several connections', async t => {
  const [a, b] = await Promise.all([open(t), open(t)])
  const listener = await b.listen(PORT, { privateData: Buffer.from('welcome') })
  const region = (await memory(a, 100)).region
  const receives = [0, 1, 2].map(id => ({ id, region, offset: 10 * id, length: 10 }))
  const first = await a.connect(b.about.address, PORT, { privateData: Buffer.from('hello'), receives })
  const taken = await listener.accept()
  t.equal(Buffer.from(taken.peerPrivateData).toString(), 'hello')
  t.equal(Buffer.from(first.peerPrivateData).toString(), 'welcome')
  t.equal(taken.remote, a.about.address)
  t.equal(first.remote, b.about.address)
  t.equal(first.pathMtu, taken.pathMtu)
  const theirs = await memory(b, 100)
  for (const i of [0, 1, 2]) {
    theirs.bytes.fill(`message ${i}`, 10 * i, 10 * i + 9)
    t.ok(taken.postSend({ id: i, opcode: WorkOpcode.SEND, region: theirs.region, offset: 10 * i, length: 9 }))
  }
  for (const i of [0, 1, 2]) t.equal(await next(first), `${i} SUCCESS 9`, 'into what was posted before')

  const more = await Promise.all([1, 2, 3].map(() => a.connect(b.about.address, PORT)))
  const others = await Promise.all([1, 2, 3].map(() => listener.accept()))
  t.equal(new Set([first, ...more].map(({ id }) => id)).size, 4)
  await more[1]!.disconnect()
  t.equal(await more[1]!.closed, null)
  const ended = await Promise.race(others.map(async each => ((await each.closed) === null ? each : each)))
  t.ok(others.includes(ended))
  t.ok(first.postSend({ id: 9, opcode: WorkOpcode.SEND, region, offset: 0, length: 0 }), 'the others live on')
  t.ok(taken.postReceive({ id: 19, region: theirs.region, offset: 0, length: 0 }))
  t.equal(await next(first), '9 SUCCESS 0')
})

usual('unsignaled work, and a peer that takes a key back', async t => {
  const { a, b, ab, ba } = await connected(t)
  const [ma, mb] = [await memory(a, 4096), await memory(b, 4096)]
  const window = await memory(b, 64, Access.LOCAL_WRITE | Access.REMOTE_WRITE)
  const work: SendWork = { id: 0, opcode: WorkOpcode.SEND, region: ma.region, offset: 0, length: 8 }
  // Many times the depth of the queues: unsignaled work returns its places.
  for (let i = 1; i <= 1000; i++) {
    const signaled = i % 10 === 0
    const remote = { remoteAddress: mb.region.address + 8, rkey: mb.region.key }
    while (!ab.postSend({ ...work, ...remote, opcode: WorkOpcode.RDMA_WRITE, id: i, signaled })) {
      await new Promise(resolve => setImmediate(resolve))
    }
    if (signaled) t.equal(await next(ab), `${i} SUCCESS 8`)
  }
  t.ok(ba.postReceive({ id: 1, region: mb.region, offset: 0, length: 64 }))
  t.ok(ab.postSend({ ...work, id: 7, opcode: WorkOpcode.SEND_WITH_INV, invalidateKey: window.region.key }))
  t.equal(await next(ab), '7 SUCCESS 8')
  t.equal(await next(ba), '1 SUCCESS 8')
  t.notOk(window.region.valid, 'the region knows')
})

long('a host connects to itself', async t => {
  const a = await open(t)
  const listener = await a.listen(PORT)
  const [there, here] = await Promise.all([a.connect(a.about.address, PORT), listener.accept()])
  const { region, bytes } = await memory(a, 64)
  bytes.write('to itself')
  t.ok(here.postReceive({ id: 1, region, offset: 32, length: 32 }))
  t.ok(there.postSend({ id: 2, opcode: WorkOpcode.SEND, region, offset: 0, length: 9 }))
  t.equal(await next(here), '1 SUCCESS 9')
  t.equal(bytes.toString('latin1', 32, 41), 'to itself')
})

long('a program that is not asked for packets polls without end', async t => {
  const { a, b, ab, ba } = await connected(t, { busyPoll: true })
  const [ma, mb] = [await memory(a, 64), await memory(b, 64)]
  for (let i = 0; i < 100; i++) {
    t.ok(ba.postReceive({ id: i, region: mb.region, offset: 0, length: 64 }))
    t.ok(ab.postSend({ id: i, opcode: WorkOpcode.SEND, region: ma.region, offset: 0, length: 64 }))
    t.equal(await next(ab), `${i} SUCCESS 64`)
    t.equal(await next(ba), `${i} SUCCESS 64`)
  }
  t.ok(a instanceof Host)
})

long('memory of another protection domain: not to be used here, not reached from there', async t => {
  const [a, b] = await Promise.all([open(t), open(t)])
  const listener = await b.listen(PORT, { domain: 'own' })
  const first = await a.connect(b.about.address, PORT)
  const [one, second] = [await listener.accept(), await a.connect(b.about.address, PORT)]
  const two = await listener.accept()
  t.equal(new Set([one.domain, two.domain, 0]).size, 3, 'each has its own')
  const mine = (await memory(a, 100)).region
  const shared = new SharedArrayBuffer(100)
  const theirs = await b.register(shared, ALL, one.domain)
  const work = { id: 1, opcode: WorkOpcode.RDMA_WRITE, region: mine, offset: 0, length: 100 }
  const write = { ...work, remoteAddress: theirs.address, rkey: theirs.key }
  t.ok(first.postSend(write))
  t.equal(await next(first), '1 SUCCESS 100')
  t.ok(second.postSend(write))
  t.equal(await next(second), '1 REM_ACCESS_ERR 0')

  const domain = a.newDomain()
  const other = await a.register(new SharedArrayBuffer(100), ALL, domain)
  t.throws(() => first.postSend({ ...write, region: other }), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /protection domain 1, the connection of 0/,
  })
  const third = await a.connect(b.about.address, PORT, { domain })
  t.equal(third.domain, domain)
  for (const wrong of [-1, 2, 0.5]) {
    const bad = { code: 'WEIR_BAD_ARGUMENT', message: /domain is one that newDomain/ }
    await t.rejects(a.register(shared, ALL, wrong), bad)
    await t.rejects(a.connect(b.about.address, PORT, { domain: wrong }), bad)
    await t.rejects(a.listen(PORT, { domain: wrong }), bad)
  }
})

usual('a host in a program that is no file', async t => {
  const entry = new URL('../../lib/index.js', import.meta.url).href
  const open = `await Host.open({ address: '${loopbackAddress()}' })`
  const program = `import { Host } from '${entry}'; const host = ${open}; await host.close(); console.log('closed')`
  // The thread has the flags of the program: Node.js refuses the first one for a thread that is given flags of its own.
  const preloaded = `data:text/javascript,${encodeURIComponent("import { isMainThread } from 'node:worker_threads'; if (!isMainThread) console.error('preloaded')")}`
  const flags = ['--stack-size=800', `--import=${preloaded}`]
  for (const [args, env] of [
    [[...flags, '--input-type=module', '-e', program], {}],
    [[...flags, '-e', program], { NODE_OPTIONS: '--input-type=module' }],
  ] as const) {
    const { stdout, stderr } = spawnSync(process.execPath, args, {
      encoding: 'utf8',
      env: { ...process.env, ...env },
    })
    t.equal(stdout, 'closed\n', stderr)
    t.equal(stderr, 'preloaded\n', 'on the thread of the NIC')
  }
})
