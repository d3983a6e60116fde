/**
 * A connection's own options hold for it, whatever the NIC's are. No value of an option ends another
 * connection.
 */
import t, { type Test } from 'tap'
import { ccNames } from '../../lib/cc/catalogue.js'
import { PATH_OPTIONS } from '../../lib/cc/path-options.js'
import { TELEMETRY_OPTIONS } from '../../lib/cc/telemetry-options.js'
import type { NicConfig } from '../../lib/nic/config.js'
import type { HostIntake } from '../../lib/nic/telemetry/host-hop.js'
import type { ConnectOptions } from '../../lib/nic/types.js'
import { isNumber, keyOf, type Value, type ValueOption } from '../../lib/options/option.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import { App, frameName, makePair, memoryOf, PORT, pattern, refusal } from './pair.js'

const BYTES = 30_000

/** A host that keeps up, and reports so. */
const INTAKE: HostIntake = { stampNs: 1, takenBytes: 0, queueByteNs: 0, rateBps: 10e9 }

/** A WRITE and a READ of BYTES over a connection with these options. */
function exchange(options: ConnectOptions, nic: Partial<NicConfig> = {}) {
  const config = { hostIntake: INTAKE, cc: { name: 'hpcc', options: {} }, ...nic }
  const pair = makePair({ a: config, b: config })
  /** DSCPs of data packets from the connecting end. */
  const dscps = new Set<number>()
  /** Echoes of this end with a record of its own. */
  let hostEchoes = 0
  pair.tap.watch = (frame, _now, fromA) => {
    if (!fromA || frame.bth < 0) return true
    if (frameName(frame).startsWith('RC_RDMA_WRITE')) dscps.add(ipv4.dscp(frame.view, frame.l3))
    const isEcho = frame.shim >= 0 && intShim.isEcho(frame.view, frame.shim)
    if (isEcho && (intShim.flags(frame.view, frame.shim) & intShim.FLAG_HOST) !== 0) hostEchoes++
    return true
  }
  const left = new App(pair.a)
  const right = new App(pair.b)
  pair.b.listen(PORT, { accept: () => right })
  pair.a.connect(pair.network.now, pair.b.address, PORT, left, options)
  pair.until(() => left.log.includes('established') && right.log.includes('established'))
  const source = memoryOf(pair.a, pattern(1, BYTES))
  const target = memoryOf(pair.b, Buffer.alloc(BYTES))
  for (const [id, opcode] of [WorkOpcode.RDMA_WRITE, WorkOpcode.RDMA_READ].entries()) {
    const { address: remoteAddress, key: rkey } = target
    const work = { id, opcode, region: source, offset: 0, length: BYTES, remoteAddress, rkey }
    left.connection!.postSend(pair.network.now, work)
  }
  pair.until(() => left.log.includes('completion 1 SUCCESS'))
  left.connection!.disconnect(pair.network.now)
  pair.settle()
  const arrived = target.buffer!.equals(pattern(1, BYTES))
  return {
    log: left.log,
    arrived,
    dscps: [...dscps].sort((x, y) => x - y),
    hostEchoes,
    inUse: pair.pool.inUse,
  }
}

function check(t: Test, name: string, options: ConnectOptions): void {
  const { log, arrived, inUse } = exchange(options)
  t.same(log, ['created', 'established', 'completion 0 SUCCESS', 'completion 1 SUCCESS', 'closed'], name)
  t.ok(arrived, name)
  t.equal(inUse, 0, name)
}

/** Every choice, or the bounds. */
function endsOf(option: ValueOption, most = Number.POSITIVE_INFINITY): readonly Value[] {
  if (isNumber(option)) return [option.min, Math.min(option.max, most)]
  return option.kind === 'flag' ? [true, false] : option.choices
}

t.test('every setting of telemetry, at each of its ends, on a NIC at its defaults', async t => {
  for (const option of TELEMETRY_OPTIONS) {
    const values = endsOf(option)
    // Where every packet collects, none could be plain; probes have a share only where they collect.
    const besides: Record<string, object> = { plain: { everyPackets: 2 }, probeShare: { collect: 'probe' } }
    const beside = besides[option.name] ?? {}
    for (const value of values) {
      check(t, `${option.name}=${value}`, { telemetry: { ...beside, [option.name]: value } })
    }
  }
})

t.test('every setting of paths', async t => {
  for (const option of PATH_OPTIONS) {
    if (option.name === 'admissionQueue') continue
    for (const value of endsOf(option, 1e6)) {
      check(t, `${option.name}=${value}`, { paths: { count: 2, [keyOf(option)]: value } })
    }
  }
})

t.test('what a connection cannot have, or nothing makes use of, is refused', async t => {
  const refused = (options: ConnectOptions, b: Partial<NicConfig> = {}) =>
    refusal(() => exchange(options, b), 'WEIR_BAD_ARGUMENT')
  t.match(refused({ paths: { admission: 0.5, admissionWaitNs: 1e6, admissionQueue: 2 } }), /of a whole host/)
  const fixed = { name: 'fixed-window', options: {} }
  t.match(
    refused({ cc: fixed, telemetry: { collect: 'probe' } }),
    /collect has no effect while cc is fixed-window, which uses no telemetry/,
  )
  t.match(refused({ telemetry: { plain: true } }), /while every packet collects/)
  t.match(refused({ cc: { name: 'cubic', options: {} }, telemetry: { subscribe: 'flag' } }), /ignores direct/)
  t.match(refused({ cc: { name: 'hpcc', options: { lossBeta: 0.5 } } }), /begin at line rate/)
  // The peer's controller may request it, and settings of the NIC may be for other connections.
  check(t, 'answer', { cc: fixed, telemetry: { answer: 'notify', hostHop: false } })
  t.doesNotThrow(() => exchange({ cc: fixed }, { telemetry: { collect: 'probe' } }))
})

t.test('every controller; sizes, ports, priorities', async t => {
  for (const name of ccNames()) {
    const options: Record<string, number> = name === 'fixed-window' ? { window: 10_000 } : {}
    check(t, name, { cc: { name, options } })
  }
  for (const pathMtu of [256, 512, 1024, 2048, 4096]) check(t, `pathMtu ${pathMtu}`, { pathMtu })
  for (const sourcePort of [0xc000, 0xffff]) check(t, `sourcePort ${sourcePort}`, { sourcePort })
  for (const priority of [0, 7]) check(t, `priority ${priority}`, { priority })
  for (const baseRttNs of [1, 1e9]) check(t, `baseRttNs ${baseRttNs}`, { baseRttNs })
  check(t, 'patient', { patient: true })
  check(t, 'privateData', { privateData: new Uint8Array(20) })
})

t.test('subscribe=dscp of a connection: its packets ask by its DSCP', async t => {
  const usual = exchange({}).dscps
  t.equal(usual.length, 1)
  t.same(exchange({ telemetry: { subscribe: 'dscp' } }).dscps, [25])
  const some = exchange({ telemetry: { subscribe: 'dscp', subscribeDscp: 40, subscribeEvery: 2 } }).dscps
  t.same(
    some,
    [...usual, 40].sort((x, y) => x - y),
  )
  const off = exchange({ telemetry: { subscribe: 'off' } }, { telemetry: { subscribe: 'dscp' } }).dscps
  t.same(off, usual, 'nor do they where the NIC’s would')
})

t.test('hostHop of a connection: this end reports itself, or does not', async t => {
  t.ok(exchange({}).hostEchoes > 0)
  t.equal(exchange({ telemetry: { hostHop: false } }).hostEchoes, 0)
  t.ok(exchange({ telemetry: { hostHop: true } }, { telemetry: { hostHop: false } }).hostEchoes > 0)
  t.equal(exchange({}, { telemetry: { hostHop: false } }).hostEchoes, 0)
})

t.test('what has no effect is refused where it is given, with the reason', async t => {
  const refused = (message: RegExp) => ({ code: 'WEIR_BAD_ARGUMENT', message })
  const format = (name: 'ifa' | 'ioam' | 'p4-int-md') => ({ int: { format: name, hops: 5 } })
  const byFlag: ConnectOptions = { telemetry: { subscribe: 'flag' } }
  t.throws(() => exchange(byFlag, format('ifa')), refused(/subscribe has no effect while the format is ifa/))
  t.throws(
    () => exchange(byFlag, format('ioam')),
    refused(/subscribe has no effect while the format is ioam/),
  )
  const nic = { ...format('p4-int-md'), telemetry: { collect: 'probe' } as const }
  t.throws(() => exchange(byFlag, nic), refused(/subscribe .* p4-int-md and collect is probe/))
  t.throws(
    () => exchange({}, { ...nic, telemetry: { collect: 'probe', subscribe: 'flag' } }),
    refused(/subscribe/),
  )
  t.doesNotThrow(() => exchange(byFlag, format('p4-int-md')))
  const cc = { name: 'rx-hpcc', options: {} }
  t.throws(() => exchange({ cc, telemetry: { answer: 'notify' } }), refused(/answer .* while cc is rx-hpcc/))
  t.throws(() => exchange({ telemetry: { hops: 'busiest' } }, { cc }), refused(/hops .* while cc is rx-hpcc/))
  const counting = { name: 'hpcc', options: { countFlows: true } }
  t.throws(
    () => exchange({ cc: counting, telemetry: { hops: 'busiest' } }),
    refused(/countFlows has no effect/),
  )
  t.throws(
    () => exchange({ cc: counting }, { telemetry: { hops: 'busiest' } }),
    refused(/countFlows has no effect/),
  )
})
