import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { WeirError } from '../../lib/errors.js'
import type { PortResult } from '../../lib/scenario/result/result.js'
import { errorOf } from '../../lib/thread/error-record.js'
import type { CaptureFile, CapturePlace } from '../port-captures.js'
import type { KeeperReply, KeeperRequest, KeeperStatus } from './keeper-messages.js'
import { daemonSocket, inboxOf, isKept, keeperSocket, type LabState } from './lab-state.js'
import type { LinkState } from './link-states.js'
import { isAlive } from './processes.js'

/** What `weir lab status --json` prints for a lab. */
export interface LabStatus {
  name: string
  file: string
  /** `up`: all is there. `degraded`: a process has ended, or a link is not up. `starting`. `broken`: what is left wants `weir lab down`. */
  state: 'up' | 'degraded' | 'starting' | 'broken'
  startedUnixMs: number
  /** Whether the namespaces are root's or lie in a user namespace. */
  privilege: LabState['privilege']
  hosts: HostStatus[]
  switch: { pid: number; alive: boolean; said: string }
  ports: PortStatus[]
  /** Frames lost between the processes since the lab came up: by a busy machine, or by what `tc` put on a port. */
  lostFrames: number
  /** Absent: the lab's ports are not captured. */
  captures?: CapturesStatus
}

/** Captures of the lab's ports: `weir lab up --pcap`. */
export interface CapturesStatus {
  folder: string
  /** Bytes kept of each frame; absent: all. */
  snapBytes?: number
  /** On disk for each port, beyond which the oldest packets go; absent: no bound. */
  bytesMax?: number
  /** Empty when the switch process does not answer. */
  files: CaptureFile[]
}

export interface HostStatus {
  name: string
  address: string
  mac: string
  /** The daemon's control socket, and the folder that receives files. */
  socket: string
  inbox: string
  /** Whether the inbox stays when the lab goes. */
  keepsInbox: boolean
  /** State of its link; null when the keeper does not answer. */
  link: LinkState | null
  /** Its daemon. */
  pid: number
  alive: boolean
  /** What the daemon said when it ended. */
  said: string
}

/** A port of a switch; what counts, counts since the lab came up. */
export interface PortStatus extends PortResult {
  /** What its queue holds now. */
  queueBytes: number
  /** Sent during the last quarter of a second. */
  sendingBps: number
}

/** The rate is taken over this time. */
const SAMPLE_MS = 250
/** A keeper that has not answered after this time hangs. */
const ANSWER_MS = 5000

export async function labStatus(state: LabState): Promise<LabStatus> {
  const { name, file, startedUnixMs, privilege, captures } = state
  const before = await askKeeper(state)
  if (before?.switch) await sleep(SAMPLE_MS)
  const now = before?.switch ? await askKeeper(state) : before
  const process = (of: string) => {
    const found = now?.processes.find(one => one.name === of)
    return { pid: found?.pid ?? 0, alive: found?.alive ?? false, said: found?.said ?? '' }
  }
  return {
    name,
    file,
    state: stateOf(state, now),
    startedUnixMs,
    privilege,
    hosts: state.hosts.map(({ name: host, address, mac }, i) => ({
      name: host,
      address,
      mac,
      socket: daemonSocket(name, host),
      inbox: inboxOf(state, host),
      keepsInbox: state.inboxFolder !== undefined,
      link: now?.links[i] ?? null,
      ...process(`the daemon of ${host}`),
    })),
    switch: process('the switch process'),
    ports: portsOf(before, now),
    lostFrames: now?.switch?.lostFrames ?? 0,
    ...(captures !== undefined && { captures: capturesOf(captures, now) }),
  }
}

/** How a lab stands, as far as it shows without asking it. */
export function stateOf(state: LabState, keeper: KeeperStatus | null): LabStatus['state'] {
  if (!isKept(state)) return state.up || !isAlive(state.owner) ? 'broken' : 'starting'
  if (!state.up) return 'starting'
  if (keeper === null) return 'broken'
  const isWhole = keeper.processes.every(({ alive }) => alive) && keeper.links.every(link => link === 'up')
  return isWhole ? 'up' : 'degraded'
}

function capturesOf(place: CapturePlace, keeper: KeeperStatus | null): CapturesStatus {
  const { folder, snapBytes, bytesMax } = place
  return { folder, snapBytes, bytesMax, files: keeper?.switch?.captures ?? [] }
}

/** Null when nobody answers. */
export async function askKeeper(state: LabState): Promise<KeeperStatus | null> {
  return await talkToKeeper<KeeperStatus>(state, '')
}

/**
 * Restores PFC of a port of a lab where the watchdog's limit has turned it off. Returns where it was off. Throws
 * WEIR_BAD_ARGUMENT for what is no port, WEIR_BAD_STATE when the lab does not answer.
 */
export async function turnPfcOn(
  state: LabState,
  port: string,
  priority?: number,
): Promise<{ port: string; priority: number }[]> {
  const request: KeeperRequest = { type: 'pfcOn', port, priority }
  const reply = await talkToKeeper<KeeperReply>(state, JSON.stringify(request))
  if (reply === null) {
    const text = `lab ${state.name} does not answer; see "weir lab status ${state.name}"`
    throw new WeirError('WEIR_BAD_STATE', text)
  }
  if (reply.type === 'error') throw errorOf(reply.error)
  return reply.restored
}

async function talkToKeeper<T>(state: LabState, request: string): Promise<T | null> {
  if (!isKept(state)) return null
  return await new Promise(resolve => {
    let text = ''
    const socket = connect(keeperSocket(state.name))
    socket.end(request)
    socket.setTimeout(ANSWER_MS, () => socket.destroy())
    socket.setEncoding('utf8').on('data', piece => {
      text += piece
    })
    socket.on('error', () => {})
    socket.once('close', () => {
      try {
        resolve(JSON.parse(text) as T)
      } catch {
        resolve(null)
      }
    })
  })
}

function portsOf(before: KeeperStatus | null, now: KeeperStatus | null): PortStatus[] {
  if (!now?.switch || !before?.switch) return []
  const seconds = (now.unixMs - before.unixMs) / 1000
  const { ports, queueBytes } = now.switch
  return ports.map((port, i) => ({
    ...port,
    queueBytes: queueBytes[i]!,
    sendingBps: seconds > 0 ? ((port.txBytes - before.switch!.ports[i]!.txBytes) * 8) / seconds : 0,
  }))
}
