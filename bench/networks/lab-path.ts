/**
 * A lab whose switch writes no telemetry: real packets, an exact delay, and packets that are dropped at
 * random if requested. What is measured are daemons with their usual settings, and not the lab's own, whose
 * settings are those of scenarios.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WeirError } from '../../lib/errors.js'
import { weirProgram } from '../../lib/package-file.js'
import type { LabStatus } from '../../switch-emu/lab/lab-status.js'
import { type Place, WeirDaemon } from '../support/weir-daemon.js'
import type { NetworkPath, Sender } from './path.js'

const WEIR = weirProgram()
const RECEIVER = 'h3'
const HOSTS = ['h1', 'h2', RECEIVER] as const
const INTERFACE = 'eth0'
/** That of Ethernet, for Weir and for TCP: the links of a lab carry longer packets. */
const MTU = 1500
/** The lab's daemons have the usual one. */
const UDP_PORT = 4811

interface Network {
  rateMbps: number
  /** Round trip of the path without queues. */
  roundTripMs: number
  /** Bytes that may wait at the bottleneck. */
  bufferBytes: number
}

interface LabPathOptions extends Network {
  /** Packets per thousand that the receiver's interface drops. */
  dropPerMille?: number
  /** More options of `weir daemon`. */
  daemon: readonly string[]
}

/**
 * Throws WEIR_UNSUPPORTED where there are no labs, or no nft for random drops. It removes everything at its
 * end, also after Ctrl-C.
 */
export async function labPath(options: LabPathOptions): Promise<NetworkPath> {
  if (options.dropPerMille !== undefined && spawnSync('nft', ['--version']).error)
    throw new WeirError('WEIR_UNSUPPORTED', 'needs nft (package nftables), which drops packets at random')
  const folder = mkdtempSync(join(tmpdir(), 'weir-bench-'))
  const name = `networks-${process.pid}`
  const file = join(folder, 'lab.yaml')
  writeFileSync(file, labScenario(options))
  const weir = (...args: string[]) => runProgram([process.execPath, WEIR, ...args])
  const takeDown = () => {
    process.removeListener('exit', takeDown)
    try {
      weir('lab', 'down', name)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
  const daemons: WeirDaemon[] = []
  const close = async () => {
    await Promise.all(daemons.map(one => one.stop()))
    takeDown()
  }
  try {
    weir('lab', 'up', file, '--name', name, '--io', 'batch')
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  process.once('exit', takeDown)
  try {
    const within = (host: string) => [process.execPath, WEIR, 'lab', 'exec', name, host, '--']
    const status = (): LabStatus => JSON.parse(weir('lab', 'status', name, '--json'))[0]
    const place = (host: string): Place => ({
      address: status().hosts.find(one => one.name === host)!.address,
      within: within(host),
    })
    for (const host of HOSTS) {
      runProgram([...within(host), 'ip', 'link', 'set', INTERFACE, 'mtu', String(MTU)])
      daemons.push(await WeirDaemon.start(folder, host, place(host), options.daemon, undefined, UDP_PORT))
    }
    if (options.dropPerMille !== undefined) dropAtRandom(within(RECEIVER), options.dropPerMille)
    const counts = async () => {
      const ports = status().ports
      return {
        sentBytes: ports.find(({ name }) => name === `s1:${RECEIVER}`)!.txBytes,
        droppedByQueue: ports.reduce((sum, { drops }) => sum + drops, 0),
        droppedAtRandom: options.dropPerMille === undefined ? 0 : droppedAtRandom(within(RECEIVER)),
      }
    }
    const sender = (i: number): Sender => ({ ...place(HOSTS[i]!), client: daemons[i]!.client })
    return { senders: [sender(0), sender(1)], receiver: place(RECEIVER), counts, close }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * The scenario file of the lab. The switch has one queue for everything. With the usual map it would serve
 * the daemons' DSCP before TCP's, and the share beside TCP would be that of strict priority.
 */
export function labScenario({ rateMbps, roundTripMs, bufferBytes }: Network): string {
  const edgeUs = 50
  const delayUs = Math.round((roundTripMs * 1000) / 2 - edgeUs)
  return `
link: { rate: ${10 * rateMbps}Mbps, delay: ${edgeUs}us }
hosts: [h1, h2, ${RECEIVER}]
switches: { s1: { telemetry: off, queueBytesMax: ${bufferBytes}B, dscpToTc: { 0: 0 } } }
links: [h1--s1, h2--s1, { ends: s1--${RECEIVER}, rate: ${rateMbps}Mbps, delay: ${delayUs}us }]
traffic: [{ from: h1, to: ${RECEIVER}, size: 1MB, priority: 0 }]
`
}

/** Packets are dropped before any socket gets them. */
function dropAtRandom(within: readonly string[], perMille: number): void {
  const rules = `
table netdev weir {
  chain in {
    type filter hook ingress device eth0 priority 0; policy accept;
    numgen random mod 1000 < ${perMille} counter drop
  }
}`
  runProgram([...within, 'nft', rules])
}

function droppedAtRandom(within: readonly string[]): number {
  return Number(/packets (\d+)/.exec(runProgram([...within, 'nft', 'list', 'table', 'netdev', 'weir']))?.[1])
}

function runProgram([program, ...args]: readonly string[]): string {
  try {
    return execFileSync(program!, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string }
    throw new WeirError('WEIR_UNSUPPORTED', stderr?.trim() || message)
  }
}
