/**
 * Measures `weir perf bw` on common networks, none of which writes telemetry: alone, beside the kernel's TCP,
 * and two Weir flows. It compares with iperf3's CUBIC there, and for information with BBR and with two flows
 * of CUBIC. `LIMITS` has the requirements for a row.
 *
 * Flows that share a path begin at the same time. At first each has the share that its slow start took, also
 * with two TCP flows, and only losses make them equal. So they are measured after `SETTLE_CYCLES` of CUBIC's
 * cycles on that path. Where packets are lost at random, a single flow is measured after the same time,
 * because before that its first slow start decides.
 */
import { parseArgs } from 'node:util'
import { ccNames } from '../lib/cc/catalogue.js'
import { WeirError } from '../lib/errors.js'
import { jainIndex, median } from '../lib/scenario/result/fairness.js'
import { networkCases } from './networks/cases.js'
import { type PrepareFlow, type Trial, tcpFlow, trial, weirFlow } from './networks/flows.js'
import type { NetworkCase, NetworkPath, Span } from './networks/path.js'
import { stealSince, stealTicks } from './steal.js'
import type { NamedFigure } from './support/against.js'
import { isInstalled } from './support/run-program.js'
import { table } from './support/table.js'
import { wholeNumber } from './support/whole-number.js'

/** Limits within which a sender does no harm to the rest of the network. */
const LIMITS = {
  /** Goodput alone, relative to TCP CUBIC's. */
  ratioLeast: 0.95,
  /** Share of packets dropped, relative to TCP CUBIC's. */
  dropsMost: 1.5,
  /** Goodput beside a TCP CUBIC flow, relative to that flow's. */
  shareLeast: 0.33,
  shareMost: 3,
  /** Least Jain index of two Weir senders. */
  jainLeast: 0.95,
  /** Bytes retransmitted, relative to bytes dropped. */
  retransmittedMost: 1.2,
}
/**
 * Payload bytes and all bytes of a packet at MTU 1500: filled by Weir, and of TCP's segments with time
 * stamps.
 */
const WEIR_PACKET: Packet = { payloadBytes: 1308, bytes: 1374 }
const TCP_PACKET: Packet = { payloadBytes: 1448, bytes: 1514 }
/** Where packets are lost at random, rounds differ by chance. */
const ROUNDS_OF_RANDOM_LOSS = 3
/** Cycles of CUBIC before flows that share a path are measured, and the least number of measured cycles. */
const SETTLE_CYCLES = 3
const SHARE_CYCLES = 2

interface Packet {
  payloadBytes: number
  bytes: number
}
/** Fewer dropped packets than this are due to chance. */
const DROPS_OF_NOTE = 20

interface Alone {
  goodputBps: number
  droppedPackets: number
  /**
   * Share of all packets on the path, which is also the share of bytes, because the packets of a flow have
   * one length.
   */
  dropShare: number
  /** Bytes retransmitted, relative to bytes dropped. Null where hardly any were dropped. */
  retransmittedOfDropped: number | null
}

interface NetworkFigures {
  name: string
  /** Why there are no figures. */
  skipped?: string
  weir?: Alone
  cubic?: Alone
  bbr?: Alone
  /** Median over the rounds of Weir's goodput, relative to TCP CUBIC's in the same round. */
  ratio?: number
  /** The same for the share of dropped packets. Null where neither dropped a relevant number. */
  dropRatio?: number | null
  /** Weir's goodput, relative to that of a TCP CUBIC flow beside it. */
  share?: number
  /** Jain index of two Weir senders, and for information of two TCP CUBIC flows. */
  jain?: number
  cubicJain?: number
  missed?: string[]
}

interface NetworksResult {
  benchmark: 'networks'
  rounds: number
  seconds: number
  networks: NetworkFigures[]
  /** Share of the CPU that others used. */
  stealShare: number | null
}

/**
 * Arguments: `--only PART_OF_A_NAME`, `--rounds 1`, `--seconds 10` for which a flow is measured, `--daemon
 * "OPTIONS"`, `--cc NAME` of the daemons. Throws WEIR_BAD_ARGUMENT for an unknown network or controller,
 * and WEIR_UNSUPPORTED without iperf3.
 */
export async function run(args: string[]): Promise<NetworksResult> {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string', default: '' },
      rounds: { type: 'string', default: '1' },
      seconds: { type: 'string', default: '10' },
      daemon: { type: 'string', default: '' },
      cc: { type: 'string', default: 'auto' },
      json: { type: 'boolean', default: false },
    },
  })
  if (!ccNames().includes(values.cc))
    throw new WeirError('WEIR_BAD_ARGUMENT', `--cc is one of ${ccNames().join(', ')}, not "${values.cc}"`)
  if (!isInstalled('iperf3')) throw new WeirError('WEIR_UNSUPPORTED', 'iperf3 is not installed')
  const rounds = wholeNumber('--rounds', values.rounds)
  const seconds = wholeNumber('--seconds', values.seconds)
  const daemon = values.daemon.split(' ').filter(word => word !== '')
  const cases = networkCases(values.cc).filter(({ name }) => name.includes(values.only))
  if (cases.length === 0) {
    const names = networkCases(values.cc).map(({ name }) => name)
    throw new WeirError('WEIR_BAD_ARGUMENT', `--only is a part of one of: ${names.join('; ')}`)
  }
  process.once('SIGINT', () => process.exit(130))
  process.once('SIGTERM', () => process.exit(143))
  const steal = stealTicks()
  const networks: NetworkFigures[] = []
  for (const network of cases) networks.push(await measure(network, rounds, seconds, daemon))
  const stealShare = stealSince(steal)
  const result: NetworksResult = { benchmark: 'networks', rounds, seconds, networks, stealShare }
  if (!values.json) process.stdout.write(printed(result))
  return result
}

/** For `--against`: Weir's goodput on each network, alone, by TCP's, and beside a TCP flow. */
export function comparedFigures({ networks }: NetworksResult): NamedFigure[] {
  return networks.flatMap(({ name, weir, ratio, share }) =>
    weir === undefined
      ? []
      : [
          { name: `${name}: Mbit/s`, value: weir.goodputBps / 1e6 },
          { name: `${name}: by TCP CUBIC`, value: ratio! },
          { name: `${name}: share beside TCP CUBIC`, value: share! },
        ],
  )
}

interface Round {
  weir: Trial
  cubic: Trial
  bbr: Trial
  beside: Trial
  two: Trial
  twoCubic: Trial
}

const TRIALS: readonly [keyof Round, readonly PrepareFlow[]][] = [
  ['weir', [weirFlow]],
  ['cubic', [tcpFlow('cubic')]],
  ['bbr', [tcpFlow('bbr')]],
  ['beside', [weirFlow, tcpFlow('cubic')]],
  ['two', [weirFlow, weirFlow]],
  ['twoCubic', [tcpFlow('cubic'), tcpFlow('cubic')]],
]

/** In its first second a process compiles, so each daemon sends before it is measured. */
const WARMING: readonly PrepareFlow[] = [
  weirFlow,
  (path, _sender, span, load) => weirFlow(path, 1, span, load),
]
const WARMING_SPAN: Span = { settleSeconds: 0, seconds: 2 }

async function measure(
  network: NetworkCase,
  rounds: number,
  seconds: number,
  daemon: readonly string[],
): Promise<NetworkFigures> {
  const { name, load } = network
  let path: NetworkPath
  try {
    path = await network.open(daemon)
  } catch (error) {
    if (!(error instanceof WeirError) || error.code !== 'WEIR_UNSUPPORTED') throw error
    return { name, skipped: error.message }
  }
  try {
    say(`${name}: warming`)
    for (const start of WARMING) await trial(path, [start], WARMING_SPAN, load)
    const taken: Round[] = []
    const wanted = network.randomLoss ? ROUNDS_OF_RANDOM_LOSS * rounds : rounds
    while (taken.length < wanted) {
      const round: Partial<Round> = {}
      for (const [what, flows] of TRIALS) {
        say(`${name}: round ${taken.length + 1} of ${wanted}, ${what}`)
        round[what] = await trial(path, flows, spanOf(network, flows.length, seconds), load)
      }
      taken.push(round as Round)
    }
    return figuresOf(network, taken)
  } finally {
    say('')
    await path.close()
  }
}

function spanOf({ randomLoss, cycleSeconds }: NetworkCase, flows: number, seconds: number): Span {
  const settleSeconds = Math.ceil(SETTLE_CYCLES * cycleSeconds)
  if (flows > 1) return { settleSeconds, seconds: Math.max(seconds, Math.ceil(SHARE_CYCLES * cycleSeconds)) }
  return { settleSeconds: randomLoss ? settleSeconds : 0, seconds }
}

function figuresOf({ name, randomLoss }: NetworkCase, rounds: readonly Round[]): NetworkFigures {
  const over = (value: (round: Round) => number) => median(rounds.map(value))
  const goodput = ({ flows }: Trial, i = 0) => flows[i]!.goodputBps
  const alone = (what: 'weir' | 'cubic' | 'bbr', packet: Packet): Alone => {
    const retransmitted = over(round => round[what].flows[0]!.retransmittedBytes)
    const droppedPackets = over(round => dropped(round[what]))
    return {
      goodputBps: over(round => goodput(round[what])),
      droppedPackets,
      dropShare: over(round => dropShare(round[what], packet)),
      retransmittedOfDropped:
        droppedPackets < DROPS_OF_NOTE ? null : retransmitted / (droppedPackets * packet.payloadBytes),
    }
  }
  const weir = alone('weir', WEIR_PACKET)
  const cubic = alone('cubic', TCP_PACKET)
  const fewDrops = Math.max(weir.droppedPackets, cubic.droppedPackets) < DROPS_OF_NOTE
  const figures = {
    name,
    weir,
    cubic,
    bbr: alone('bbr', TCP_PACKET),
    ratio: over(({ weir, cubic }) => goodput(weir) / goodput(cubic)),
    dropRatio: fewDrops || randomLoss ? null : weir.dropShare / cubic.dropShare,
    share: over(({ beside }) => goodput(beside) / goodput(beside, 1)),
    jain: over(({ two }) => jainOf(two)),
    cubicJain: over(({ twoCubic }) => jainOf(twoCubic)),
  }
  return { ...figures, missed: missed(figures) }
}

function jainOf({ flows }: Trial): number {
  return jainIndex(flows.map(({ goodputBps }) => goodputBps))
}

function dropped({ droppedByQueue, droppedAtRandom }: Trial): number {
  return droppedByQueue + droppedAtRandom
}

function dropShare(trial: Trial, { bytes }: Packet): number {
  const given = trial.sentBytes / bytes + trial.droppedByQueue
  return dropped(trial) / given
}

type Judged = Required<Pick<NetworkFigures, 'weir' | 'ratio' | 'dropRatio' | 'share' | 'jain'>>

/**
 * Returns the limits that a row does not keep to. A row that carried nothing has no figures, and keeps to
 * none.
 */
export function missed({ weir, ratio, dropRatio, share, jain }: Judged): string[] {
  const again = weir.retransmittedOfDropped
  return [
    !(ratio >= LIMITS.ratioLeast) && 'goodput',
    dropRatio !== null && !(dropRatio <= LIMITS.dropsMost) && 'drops',
    !(share >= LIMITS.shareLeast && share <= LIMITS.shareMost) && 'share',
    !(jain >= LIMITS.jainLeast) && 'Jain',
    again !== null && !(again <= LIMITS.retransmittedMost) && 'retransmitted',
  ].filter(word => word !== false)
}

function printed({ networks, rounds, seconds, stealShare }: NetworksResult): string {
  const mbps = (alone: Alone | undefined) => (alone === undefined ? '-' : (alone.goodputBps / 1e6).toFixed(1))
  const drops = (alone: Alone | undefined) =>
    // Where nothing counts packets their share is not a number.
    alone === undefined || Number.isNaN(alone.dropShare) ? '-' : `${(100 * alone.dropShare).toFixed(2)} %`
  const number = (value: number | null | undefined) =>
    value === null || value === undefined ? '-' : value.toFixed(2)
  const rows = networks.map(({ name, skipped, weir, cubic, bbr, ratio, share, jain, cubicJain, missed }) => [
    name,
    mbps(weir),
    mbps(cubic),
    mbps(bbr),
    number(ratio),
    drops(weir),
    drops(cubic),
    drops(bbr),
    number(weir?.retransmittedOfDropped),
    number(share),
    jain === undefined ? '-' : jain.toFixed(3),
    cubicJain === undefined ? '-' : cubicJain.toFixed(3),
    skipped ?? (missed!.length === 0 ? 'yes' : `no: ${missed!.join(', ')}`),
  ])
  const head = ['network', 'Weir', 'CUBIC', 'BBR', 'ratio', 'drops', 'CUBIC', 'BBR', 'again', 'share']
  const steal = stealShare === null ? '' : `; steal ${(100 * stealShare).toFixed(1)} %`
  return [
    `Mbit/s alone, packets dropped, bytes retransmitted by bytes dropped, share beside TCP CUBIC, Jain index of two, and of two TCP CUBIC;`,
    `flows that share a path after ${SETTLE_CYCLES} cycles of CUBIC, over ${SHARE_CYCLES} at least; flows alone from their beginning, after ${SETTLE_CYCLES} cycles where packets are lost at random;`,
    `medians over ${rounds} ${rounds === 1 ? 'round' : 'rounds'} of ${seconds} s, over ${ROUNDS_OF_RANDOM_LOSS * rounds} where packets are lost at random${steal}`,
    table([...head, 'Jain', 'CUBIC', 'within the limits'], rows, 1),
    '',
  ].join('\n')
}

function say(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[2K${text}`)
}
