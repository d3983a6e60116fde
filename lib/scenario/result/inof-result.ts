/** What an iNOF network knew at the end, and how soon its hosts heard of changes. */
import { formatDuration } from '../../units/units.js'
import { type TableData, tableText } from './table.js'

export interface InofResult {
  /** Hosts that have announced themselves, by switch and port. */
  hosts: InofHostResult[]
  switches: {
    name: string
    /** Hosts that it knows of. */
    members: number
    /** Failed links that it knows of, by their ends: `s1:s2`. */
    failedLinks: string[]
    /** Announcements that it did not believe: of another address, or too soon after the last change. */
    refused: number
    /** LLDP frames that announce nothing. They end at the switch. */
    otherLldp: number
  }[]
  zones: InofZoneResult[]
  /** Both ends of each BGP session. */
  peers: InofPeerResult[]
  /** The first 1,000 changes of hosts. */
  changes: InofChangeResult[]
}

interface InofHostResult {
  name: string
  address: string
  port: string
  state: 'up' | 'failed'
  storage: boolean
  zones: number[]
  /** Switches that know of it. */
  knownBy: number
}

interface InofZoneResult {
  zone: number
  hosts: string[]
}

interface InofPeerResult {
  of: string
  address: string
  state: string
  client: boolean
  /** Routes that the neighbour has sent, and those of them that are kept although its connection was lost. */
  routes: number
  stale: number
  /** Times that a session was established. */
  sessions: number
  /** Routes and withdrawals that wait, because the neighbour does not read as fast, and the times that some began to wait. */
  waiting: number
  waits: number
  /** Why the last session ended, or null. */
  lastEnd: string | null
}

interface InofChangeResult {
  /** When the host's switch saw it, from the start of the traffic. Negative: before. */
  atNs: number
  host: string
  event: string
  /** Hosts that got a notice, and those that have acknowledged it. */
  told: number
  heard: number
  /** From `atNs` to the last acknowledgement. Null: there is none. */
  lastNs: number | null
}

/** Changes that the table lists. The JSON has more. */
const CHANGE_ROWS_MAX = 20

/** What a run's result says of iNOF in a few lines. */
export function inofLines({ hosts, switches, zones, peers }: InofResult): string {
  const up = hosts.filter(({ state }) => state === 'up').length
  const everywhere = hosts.filter(({ knownBy }) => knownBy === switches.length).length
  // Both ends of a session are listed, unless its reflector is a program of its own.
  const ofReflectors = peers.filter(({ client }) => client)
  const sessions = ofReflectors.length > 0 ? ofReflectors : peers
  const isUp = sessions.filter(({ state }) => state === 'established').length
  const head = `iNOF: ${up} hosts up in ${zones.length} zones, ${everywhere} known to every switch; ${isUp} of ${sessions.length} BGP sessions\n`
  const failed = [...new Set(switches.flatMap(({ failedLinks }) => failedLinks))]
  return head + (failed.length === 0 ? '' : `Failed links: ${failed.join(', ')}\n`)
}

/** Formats what a run's result says of iNOF. @param columns of the terminal */
export function inofText(result: InofResult | undefined, columns: number): string {
  if (result === undefined) return ''
  const shown = result.changes.filter(({ told }) => told > 0).slice(-CHANGE_ROWS_MAX)
  const list = shown.length === 0 ? '' : `\n${tableText(inofChanges(shown), columns)}`
  return `${inofLines(result)}${list}`
}

/** The hosts, for `weir inof show`. */
export function inofHosts(hosts: readonly InofHostResult[]): TableData {
  const rows = hosts.map(({ name, address, port, state, storage, zones, knownBy }) => [
    name,
    address,
    port,
    state,
    storage ? 'storage' : 'host',
    zones.join(' ') || '-',
    `${knownBy}`,
  ])
  return { head: ['host', 'address', 'port', 'state', 'kind', 'zones', 'known by'], rows, leftColumns: 6 }
}

export function inofZones(zones: readonly InofZoneResult[]): TableData {
  const rows = zones.map(({ zone, hosts }) => [
    zone === 0 ? '0 (default)' : `${zone}`,
    `${hosts.length}`,
    hosts.join(' '),
  ])
  return { head: ['zone', 'hosts', 'addresses'], rows, leftColumns: 3 }
}

export function inofPeers(peers: readonly InofPeerResult[]): TableData {
  const rows = peers.map(
    ({ of, address, state, client, routes, stale, sessions, waiting, waits, lastEnd }) => [
      of,
      address,
      client ? 'client' : 'reflector',
      state,
      `${routes}`,
      `${stale}`,
      `${sessions}`,
      `${waiting}`,
      `${waits}`,
      lastEnd ?? '-',
    ],
  )
  const head = [
    'speaker',
    'neighbour',
    'is',
    'state',
    'routes',
    'stale',
    'sessions',
    'waiting',
    'waits',
    'last end',
  ]
  return { head, rows, leftColumns: 4 }
}

/** What has become of hosts, and how soon others knew. */
export function inofChanges(changes: readonly InofChangeResult[]): TableData {
  const rows = changes.map(({ atNs, host, event, told, heard, lastNs }) => [
    `${host} ${event}`,
    atNs < 0 ? 'before' : formatDuration(atNs),
    `${heard} of ${told}`,
    lastNs === null ? '-' : formatDuration(lastNs),
  ])
  return { head: ['change', 'at', 'heard by', 'within'], rows, leftColumns: 1 }
}
