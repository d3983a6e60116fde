/** Runs over the virtual network: what they count, how they end, and what remains at the other end. */
import { WeirError } from '../../lib/errors.js'
import type { Frame } from '../../lib/frame/frame.js'
import { QPS, SIZE } from '../../lib/perf/perf-options.js'
import type { PerfRun } from '../../lib/perf/perf-run.js'
import { MILLISECOND, SECOND } from '../../lib/time/nanos.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as deth from '../../lib/wire/ib/deth.js'
import { parseFrame } from '../../lib/wire/parse.js'
import { long, usual } from '../support/long.js'
import { DELAY_NS, makeWorld, RATE_BPS } from './world.js'

/** An attribute of the communication manager (IBA, section 12.6.9). */
const READY_TO_USE = 0x0014
const MAD_ATTRIBUTE_AT = 16

function isReadyToUse({ bth: at, view }: Frame): boolean {
  if (at < 0 || bth.destQpn(view, at) !== 1) return false
  return view.getUint16(at + bth.BYTES + deth.BYTES + MAD_ATTRIBUTE_AT) === READY_TO_USE
}

const isOver = (run: PerfRun) => run.state === 'closing' || run.state === 'closed'

usual('bytes and messages are exact, for every operation', async t => {
  for (const storage of [true, false]) {
    for (const op of ['WRITE', 'SEND', 'READ'] as const) {
      for (const [size, iterations, qps, depth] of [
        [1, 7, 1, 1],
        [1024, 64, 3, 16],
        [70_001, 20, 2, 128],
      ] as const) {
        const name = `${op} ${size} B x ${iterations} x ${qps}${storage ? '' : ', counted'}`
        const { serve, begin, until, nics, pool } = makeWorld({ storage })
        const server = serve()
        const run = begin({ op, size, iterations, qps, depth })
        t.ok(
          until(() => run.state === 'draining', run),
          `${name}: sent`,
        )
        // What the queue pairs have counted, at the end that carries the payload.
        const carried = nics[op === 'READ' ? 0 : 1].table.flows.map(flow => flow?.qp.counters)
        const bytes = carried.map(c => (op === 'READ' ? c?.readResponseBytes : c?.receivedBytes) ?? 0)
        t.equal(bytes.filter(n => n === size * iterations).length, qps, `${name}: each QP carried its bytes`)
        const [session] = [...server.sessions]
        t.same(
          session!.received,
          op === 'SEND'
            ? { messages: iterations * qps, bytes: size * iterations * qps }
            : { messages: 0, bytes: 0 },
          `${name}: only a SEND is seen by the receiver`,
        )
        t.ok(
          until(() => isOver(run), run),
          `${name}: over`,
        )
        t.equal(run.error, null, name)
        t.equal(run.tally.messages, iterations * qps, name)
        t.equal(run.tally.bytes, size * iterations * qps, name)
        t.equal(run.tally.latency.summary().count, iterations * qps, name)
        t.ok(run.tally.goodputBps < RATE_BPS, `${name}: not faster than the link`)
        t.ok(run.tally.latency.summary().min >= 2 * DELAY_NS, `${name}: not faster than light`)
        until(() => run.state === 'closed' && server.sessions.size === 0, run)
        t.equal(nics[0].table.count + nics[1].table.count, 0, `${name}: no connection is left`)
        t.equal(nics[0].memory.size + nics[1].memory.size, 0, `${name}: nor memory`)
        t.equal(pool.inUse, 0, `${name}: nor a frame`)
      }
    }
  }
})

usual('lat: the times are those of the path', async t => {
  // A packet of 64 bytes of payload takes less than 200 ns on the link; the virtual hosts take none.
  const leastNs = 2 * DELAY_NS
  for (const op of ['WRITE', 'SEND', 'READ'] as const) {
    const { serve, begin, until, nics } = makeWorld()
    const server = serve()
    const run = begin({ op, mode: 'PING_PONG', size: 64, iterations: 50, depth: 1 })
    t.ok(
      until(() => run.state === 'draining', run),
      op,
    )
    const [session] = [...server.sessions]
    const answered = op === 'READ' ? { messages: 0, bytes: 0 } : { messages: 51, bytes: 51 * 64 }
    t.same(session!.received, answered, `${op}: each arrived once, and one that is not counted`)
    t.ok(
      until(() => isOver(run), run),
      op,
    )
    t.equal(run.error, null, op)
    t.equal(run.tally.messages, 50, op)
    const { min, max, p50 } = run.tally.latency.summary()
    t.ok(min >= leastNs && min < leastNs + 1000, `${op}: ${min} ns is a round trip`)
    t.ok(p50 >= min && max < leastNs + 2000, `${op}: and so are all of them (${p50}, ${max})`)
    const half = run.tally.latency.summary(0.5)
    t.equal(half.min, min / 2, 'half of it, when that is asked for')
    t.ok(
      until(() => nics[1].memory.size === 0, run),
      `${op}: the memory is given back`,
    )
  }
})

usual('a run by time counts what is delivered in it', async t => {
  const { serve, begin, until, network } = makeWorld({ storage: false })
  serve()
  let began = 0
  const run = begin({
    size: 100_000,
    iterations: 0,
    warmupNs: 20 * MILLISECOND,
    durationNs: 100 * MILLISECOND,
  })
  until(() => run.state === 'warming', run)
  began = network.now
  t.ok(
    until(() => isOver(run), run),
    'over',
  )
  t.equal(run.error, null)
  t.ok(run.tally.beginNs >= began + 19 * MILLISECOND, 'the warm-up is not counted')
  t.ok(run.tally.seconds > 0.09 && run.tally.seconds <= 0.1, `${run.tally.seconds} s`)
  t.equal(run.tally.bytes, run.tally.messages * 100_000)
  t.ok(run.tally.goodputBps > 0.8 * RATE_BPS, `${run.tally.goodputBps} bit/s of ${RATE_BPS}`)
  t.ok(run.tally.peakBps >= run.tally.goodputBps, 'the peak is no less')
  t.ok(run.tally.peakBps < RATE_BPS, 'nor more than the link')
})

usual('both ways: each end counts its own', async t => {
  for (const op of ['WRITE', 'SEND', 'READ'] as const) {
    const { serve, begin, until, nics } = makeWorld({ storage: false })
    const server = serve()
    const run = begin({
      op,
      qps: 2,
      iterations: 0,
      durationNs: 30 * MILLISECOND,
      bidirectional: true,
    })
    t.ok(
      until(() => isOver(run), run),
      op,
    )
    t.equal(run.error, null, op)
    const { remote, tally } = run.outcome
    t.equal(remote.bytes, remote.messages * run.settings.size, op)
    t.ok(remote.messages > 0 && tally.messages > 0, `${op}: ${tally.messages} there, ${remote.messages} back`)
    t.ok((remote.bytes * 8) / remote.seconds < RATE_BPS, `${op}: not faster than the link`)
    until(() => run.state === 'closed' && server.sessions.size === 0, run)
    t.equal(nics[0].memory.size + nics[1].memory.size, 0, op)
  }
})

usual('both ways, though START overtakes what establishes the connections', async t => {
  const { serve, begin, until, nics, pool } = makeWorld({ storage: false })
  serve()
  const [, server] = nics
  const onFrame = server.onFrame.bind(server)
  let lost = 0
  server.onFrame = (now, from, frame) => {
    parseFrame(frame)
    if (!isReadyToUse(frame)) return onFrame(now, from, frame)
    lost++
    pool.give(frame)
  }
  const run = begin({ qps: 2, iterations: 0, durationNs: 10 * MILLISECOND, bidirectional: true })
  t.ok(until(() => isOver(run), run))
  t.equal(run.error, null)
  t.ok(lost >= 3, `${lost} messages that establish a connection were lost`)
  t.ok(run.outcome.remote.messages > 0, `${run.outcome.remote.messages} back`)
})

usual('CPU time is that of the window, of both ends', async t => {
  let us = 5_000_000
  const { serve, begin, until } = makeWorld({ storage: false, cpuUs: () => us })
  serve()
  const run = begin({ iterations: 0, warmupNs: 10 * MILLISECOND, durationNs: 50 * MILLISECOND })
  until(() => run.state === 'measuring' && run.tally.messages > 10, run)
  us += 300
  until(() => isOver(run), run)
  t.equal(run.outcome.cpuUs, 300)
  t.equal(run.outcome.remoteCpuUs, 300)
})

long('CPU time is not that of what is still in flight when the window ends', async t => {
  // One microsecond for each kilobyte that the receiver carries out.
  let carried = () => 0
  const world = makeWorld({ storage: false, cpuUs: () => carried() / 1000 })
  const { serve, begin, until, nics } = world
  carried = () => {
    let bytes = 0
    for (const flow of nics[1].table.flows) bytes += flow?.qp.counters.receivedBytes ?? 0
    return bytes
  }
  serve()
  const size = 1_000_000
  const run = begin({ iterations: 0, durationNs: 50 * MILLISECOND, qps: 16, depth: 16, size })
  until(() => run.state === 'draining', run)
  const inWindow = run.outcome.cpuUs
  t.ok(inWindow > 0)
  let atEnd = 0
  const noteEnd = () => {
    if (!isOver(run)) atEnd = carried() / 1000
    return isOver(run)
  }
  until(noteEnd, run)
  t.ok(atEnd > 3 * inWindow, 'most came behind it')
  const { remoteCpuUs } = run.outcome
  t.ok(Math.abs(remoteCpuUs - inWindow) < 0.1 * inWindow, `${remoteCpuUs} us, and ${inWindow} at this end`)
})

long('loss: exact all the same, and retransmissions are reported', async t => {
  for (const op of ['WRITE', 'READ'] as const) {
    const { serve, begin, until } = makeWorld({ storage: false, loss: 0.01, seed: 7 })
    serve()
    const run = begin({ op, size: 50_000, iterations: 100 })
    t.ok(
      until(() => isOver(run), run),
      op,
    )
    t.equal(run.error, null, op)
    t.equal(run.tally.bytes, 5_000_000, op)
    t.ok(run.outcome.retransmittedBytes > 0, `${op}: ${run.outcome.retransmittedBytes} bytes again`)
  }
})

usual('nobody there, and one who does not let itself be measured', async t => {
  for (const refuses of [false, true]) {
    const { serve, begin, until, nics } = makeWorld()
    if (refuses) serve().refuse()
    const run = begin()
    t.ok(until(() => run.state === 'closed', run))
    t.equal(run.error?.code, 'WEIR_REJECTED')
    t.match(run.error?.message, refuses ? /--no-perf/ : /nothing there takes such connections/)
    t.equal(nics[0].memory.size, 0)
    t.equal(nics[0].table.count, 0)
  }
})

usual('cancelled at any time, nothing is left at either end', async t => {
  for (const state of ['opening', 'joining', 'starting', 'warming', 'measuring', 'draining'] as const) {
    const { serve, begin, until, nics, network, kick, pool } = makeWorld({ storage: false })
    const server = serve()
    const run = begin({
      op: 'SEND',
      qps: 3,
      iterations: 0,
      warmupNs: 5 * MILLISECOND,
      durationNs: 20 * MILLISECOND,
    })
    // States that pass within a tick are passed step by step.
    const end = network.now + SECOND
    let nextTick = 0
    while (run.state !== state && network.now < end) {
      if (network.now >= nextTick) {
        nextTick = network.now + MILLISECOND
        run.onTick(network.now)
        kick()
      }
      if (!network.step()) network.runUntil(nextTick)
    }
    t.equal(run.state, state)
    run.cancel(network.now, Object.assign(new Error('enough'), { code: 'WEIR_CANCELLED' }) as WeirError)
    kick()
    t.ok(
      until(() => run.state === 'closed' && server.sessions.size === 0, run),
      state,
    )
    t.equal(run.error?.code, 'WEIR_CANCELLED', state)
    t.equal(nics[0].memory.size + nics[1].memory.size, 0, state)
    t.equal(nics[0].table.count + nics[1].table.count, 0, state)
    network.runUntil(network.now + 60 * SECOND)
    t.equal(pool.inUse, 0, state)
  }
})

usual('the other end closes, or falls silent', async t => {
  for (const how of ['closes', 'is gone'] as const) {
    const { serve, begin, until, nics, network, kick } = makeWorld({ storage: false })
    const server = serve()
    const run = begin({ iterations: 0, durationNs: 10 * SECOND })
    until(() => run.state === 'measuring' && run.tally.messages > 5, run)
    if (how === 'closes') server.close(network.now)
    else for (const flow of [...nics[1].table.flows]) if (flow) nics[1].removeFlow(flow)
    kick()
    t.ok(
      until(() => isOver(run), run),
      how,
    )
    t.equal(run.error?.code, 'WEIR_CONNECTION_LOST', how)
    t.ok(
      until(() => run.state === 'closed', run),
      how,
    )
    t.equal(nics[0].memory.size, 0, how)
  }
})

long(
  'the greatest settings need no more memory than one message: all lie over each other, within the queues',
  async t => {
    const { serve, begin, until, nics } = makeWorld({ storage: false })
    const registered = nics.map(({ memory }) => {
      const lengths: number[] = []
      const register = memory.register.bind(memory)
      memory.register = (bytes, length, access, domain) => {
        lengths.push(length)
        return register(bytes, length, access, domain)
      }
      return lengths
    })
    serve()
    const run = begin({
      size: SIZE.max,
      qps: QPS.max,
      depth: 65_536,
      bidirectional: true,
      iterations: 0,
      durationNs: 1,
    })
    t.ok(until(() => run.state !== 'opening' && run.state !== 'joining', run))
    t.equal(
      run.outcome.depth,
      nics[0].settings.queueDepth,
      'a queue pair has as many in flight as its queue takes',
    )
    for (const lengths of registered) {
      t.equal(lengths.filter(length => length === SIZE.max).length, 1)
      t.ok(lengths.reduce((sum, length) => sum + length, 0) < 1.01 * SIZE.max, `${lengths.length} regions`)
    }
    run.cancel(0, new WeirError('WEIR_CANCELLED', 'enough'))
  },
)

usual('settings out of range are refused before anything is sent', async t => {
  const { begin, nics } = makeWorld()
  for (const [settings, message] of [
    [{ size: 0 }, /size is a whole number from 1/],
    [{ size: 2 ** 40 }, /size/],
    [{ size: 1.5 }, /size/],
    [{ qps: 1001 }, /qps/],
    [{ depth: 0 }, /depth/],
    [{ iterations: 0, durationNs: 0 }, /duration/],
    [{ iterations: -1 }, /iterations/],
    [{ mode: 'PING_PONG', depth: 2 }, /depth/],
    [{ mode: 'PING_PONG', depth: 1, qps: 2 }, /qps/],
    [{ mode: 'PING_PONG', depth: 1, bidirectional: true }, /both ways/],
    [{ pathMtu: 5 }, /path MTU/],
  ] as const) {
    t.throws(() => begin(settings), { code: 'WEIR_BAD_ARGUMENT', message }, JSON.stringify(settings))
  }
  t.equal(nics[0].memory.size, 0)
  t.equal(nics[0].table.count, 0)
})
