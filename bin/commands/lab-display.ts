/** Output of `weir lab` for people. */
import { basename, dirname, join } from 'node:path'
import { featureColumns, featureLines } from '../../lib/scenario/result/feature-columns.js'
import { fold } from '../../lib/scenario/result/fold.js'
import { linkTable } from '../../lib/scenario/result/print-links.js'
import type { LinkResult } from '../../lib/scenario/result/result.js'
import { table } from '../../lib/scenario/result/table.js'
import { columnsMost } from '../../lib/text-width.js'
import { formatBytes, formatDuration, formatPercent, formatRate } from '../../lib/units/units.js'
import type { CaptureFile } from '../../switch-emu/captures/port-captures.js'
import { inboxOf, type LabState } from '../../switch-emu/lab/lab-state.js'
import type { CapturesStatus, HostStatus, LabStatus, PortStatus } from '../../switch-emu/lab/lab-status.js'

export function printUp(state: LabState): string {
  const { name, hosts, captures } = state
  const list = hosts.map(host => `${host.name} ${host.address}`).join(', ')
  const [first] = hosts
  const last = hosts[hosts.length - 1]
  return (
    said(`lab ${name} is up: ${list}\n`) +
    said(`  inboxes: ${inboxOf(state, 'HOST')}, ${stays(state.inboxFolder !== undefined)}\n`) +
    (captures === undefined ? '' : `  captures: ${join(captures.folder, 'SWITCH--PEER.pcapng')}\n`) +
    `  weir lab exec ${name} ${first!.name} -- ping ${last!.name}\n` +
    `  weir lab status ${name}\n` +
    `  weir lab down ${name}\n`
  )
}

/** @param received number of files that were removed with the lab */
export function printDown({ name }: LabState, received: number): string {
  if (received === 0) return `lab ${name} is down\n`
  const files = received === 1 ? 'a received file' : `${received} received files`
  return said(`lab ${name} is down; this removed ${files} ("weir lab up --inbox DIR" keeps them)\n`)
}

/** Breaks sentences at the terminal's width. Commands to copy are not broken. */
function said(text: string): string {
  return fold(text, columnsMost(process.stdout), 4)
}

function stays(inboxStays: boolean): string {
  return inboxStays
    ? 'kept when the lab is removed'
    : 'removed with the lab ("weir lab up --inbox DIR" keeps them)'
}

export function printLabs(labs: readonly { name: string; state: string; file: string }[]): string {
  if (labs.length === 0) return 'no lab is up\n'
  const rows = labs.map(({ name, state, file }) => [name, state, file])
  return table(['lab', 'state', 'file'], rows, 3, columnsMost(process.stdout))
}

export function printStatus(status: LabStatus): string {
  const head = `lab ${status.name}: ${status.state}, from ${status.file}\n`
  if (status.state === 'broken') {
    return said(`${head}Some of its processes have ended. Remove the rest: weir lab down ${status.name}\n`)
  }
  const parts = [said(head), hostTable(status.hosts), placesOf(status)]
  if (!status.switch.alive) parts.push(said(`The switch process has ended. ${status.switch.said}\n`))
  if (status.ports.length > 0) parts.push(portTable(status.ports), said(featureLines(status.ports)))
  if (status.links.length > 0) parts.push(printLinks(status.links))
  if (status.lostFrames > 0) {
    const why = 'the machine is busy, or "tc" slows a port'
    parts.push(said(`${status.lostFrames} frames were lost on the veth pairs: ${why}\n`))
  }
  if (status.captures !== undefined) parts.push(printCaptures(status.captures))
  return parts.join('\n')
}

/** The folders and sockets of all hosts. They differ only in the host's name. */
function placesOf({ hosts: [first] }: LabStatus): string {
  if (first === undefined) return ''
  const { name, inbox, socket, keepsInbox } = first
  return said(
    `inboxes: ${join(dirname(inbox), 'HOST')}, ${stays(keepsInbox)}\n` +
      `sockets: ${join(dirname(socket), `HOST${basename(socket).slice(name.length)}`)}\n`,
  )
}

function printCaptures({ folder, snapBytes, bytesMax, files }: CapturesStatus): string {
  const sum = (value: (file: CaptureFile) => number) => files.reduce((total, file) => total + value(file), 0)
  const bound = bytesMax === undefined ? '' : `, at most ${formatBytes(bytesMax)} for a port`
  const cut = snapBytes === undefined ? '' : `, frames cut to ${snapBytes} bytes`
  const discarded = sum(file => file.discardedPackets)
  const lines = [
    `captures: ${join(folder, 'SWITCH--PEER.pcapng')}${cut}${bound}`,
    `  ${sum(file => file.packets)} packets, ${formatBytes(sum(file => file.bytes))}` +
      (discarded === 0 ? '' : `; ${discarded} older packets were discarded`),
    ...files.filter(({ fault }) => fault !== '').map(({ port, fault }) => `  ${port} has stopped: ${fault}`),
  ]
  return said(`${lines.join('\n')}\n`)
}

function hostTable(hosts: readonly HostStatus[]): string {
  const rows = hosts.map(({ name, address, mac, link, alive, pid, said }) => [
    name,
    address,
    mac,
    link ?? '?',
    alive ? `pid ${pid}` : said || 'ended',
  ])
  return table(['host', 'address', 'mac', 'link', 'daemon'], rows, 5, columnsMost(process.stdout))
}

/** Directions of links, what is set of them, and what became of their frames. */
export function printLinks(links: readonly LinkResult[]): string {
  return linkTable(links, columnsMost(process.stdout))
}

function portTable(ports: readonly PortStatus[]): string {
  const head = ['port', 'rate', 'sending', 'busy', 'queue', 'peak', 'drops', 'marks', 'pauses', 'paused']
  const features = featureColumns(ports)
  head.push(...features.head)
  const rows = ports.map(port => [
    port.name,
    formatRate(port.rateBps),
    formatRate(Math.round(port.sendingBps)),
    formatPercent(port.sendingBps / port.rateBps),
    formatBytes(port.queueBytes),
    formatBytes(port.maxQueueBytes),
    String(port.drops),
    String(port.ecnMarks),
    String(port.pausesSent),
    formatDuration(Math.round(port.pausedNs)),
    ...features.cells(port),
  ])
  return table(head, rows, 1, columnsMost(process.stdout))
}
