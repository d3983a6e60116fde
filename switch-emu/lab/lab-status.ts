import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { WeirError } from '../../lib/errors.js'
import type { LinkResult, PortResult } from '../../lib/scenario/result/result.js'
import type { LinkSettings } from '../../lib/sim/link-options.js'
import { errorOf } from '../../lib/thread/error-record.js'
import type { CaptureFile, CapturePlace } from '../captures/port-captures.js'
import type { KeeperReply, KeeperRequest, KeeperStatus } from './keeper-messages.js'
import { daemonSocket, inboxOf, isKept, keeperSocket, type LabState } from './lab-state.js'
import type { LinkState } from './link-states.js'
import { isAlive } from './processes.js'

/** Output of `weir lab status --json` for one lab. */
export interface LabStatus {
  name: string
  file: string
  /**
   * `up`: everything is there. `degraded`: a process has ended, or a link is not up. `starting`: it is coming
   * up. `broken`: run `weir lab down` for the rest.
   */
  state: 'up' | 'degraded' | 'starting' | 'broken'
  startedUnixMs: number
  /** Whether the namespaces belong to root or to a user namespace. */
  privilege: LabState['privilege']
  hosts: HostStatus[]
  switch: { pid: number; alive: boolean; said: string }
  ports: PortStatus[]
  /** Directions of links of which something has been set since the lab came up. */
  links: LinkResult[]
  /** Frames that the processes lost since the lab came up: on a busy machine, or by `tc` on a port. */
  lostFrames: number
  /** Absent: the lab's ports are not captured. */
  captures?: CapturesStatus
}

/** Captures of the lab's ports: `weir lab up --pcap`. */
export interface CapturesStatus {
  folder: string
  /** Bytes kept of each frame. Absent: all. */
  snapBytes?: number
  /** Bytes on disk for each port. The oldest packets are removed beyond that. Absent: no bound. */
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
  /** Whether the inbox remains when the lab ends. */
  keepsInbox: boolean
  /** State of its link. Null when the keeper does not answer. */
  link: LinkState | null
  /** Its daemon. */
  pid: number
  alive: boolean
  /** Last message of the daemon when it ended. */
  said: string
}

/** A port of a switch. Counts are since the lab came up. */
export interface PortStatus extends PortResult {
  /** Bytes in its queue now. */
  queueBytes: number
  /** Rate in the last quarter of a second. */
  sendingBps: number
}

/** Time over which the rate is measured. */
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
    links: now?.switch?.links ?? [],
    lostFrames: now?.switch?.lostFrames ?? 0,
    ...(captures !== undefined && { captures: capturesOf(captures, now) }),
  }
}

/** Returns the lab's state from the keeper's status. */
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

/** Returns null when the keeper does not answer. */
export async function askKeeper(state: LabState): Promise<KeeperStatus | null> {
  return await talkToKeeper<KeeperStatus>(state, '')
}

/**
 * Turns PFC of a port of a lab on again where the watchdog's limit has turned it off. Returns where it was
 * off. Throws WEIR_BAD_ARGUMENT for an unknown port, and WEIR_BAD_STATE when the lab does not answer.
 */
export async function turnPfcOn(
  state: LabState,
  port: string,
  priority?: number,
): Promise<{ port: string; priority: number }[]> {
  return (await request(state, { type: 'pfcOn', port, priority }, 'pfcOn')).restored
}

/**
 * Changes links of a lab. Returns what is set now of the directions that were named. Throws WEIR_BAD_ARGUMENT for an unknown
 * link, and WEIR_BAD_STATE when the lab does not answer.
 */
export async function setLink(
  state: LabState,
  change: { link: string; settings: LinkSettings; reset: boolean },
): Promise<LinkResult[]> {
  return (await request(state, { type: 'setLink', ...change }, 'setLink')).links
}

/**
 * Sets which hosts are in a zone of iNOF. Returns their names. Throws WEIR_BAD_ARGUMENT for an unknown host or zone, and WEIR_BAD_STATE where
 * the lab has no reflectors of its own.
 */
export async function setZone(state: LabState, zone: number, hosts: string[]): Promise<string[]> {
  return (await request(state, { type: 'setZone', zone, hosts }, 'setZone')).hosts
}

/** Has the keeper do something. */
async function request<K extends KeeperReply['type']>(
  state: LabState,
  what: KeeperRequest,
  answer: K,
): Promise<Extract<KeeperReply, { type: K }>> {
  const reply = await talkToKeeper<KeeperReply>(state, JSON.stringify(what))
  if (reply?.type === 'error') throw errorOf(reply.error)
  if (reply?.type === answer) return reply as Extract<KeeperReply, { type: K }>
  const text = `lab ${state.name} does not answer; see "weir lab status ${state.name}"`
  throw new WeirError('WEIR_BAD_STATE', text)
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
