/** What `weir lab` prints for people. */
import { table } from '../../lib/scenario/print-tables.js'
import { formatBytes, formatDuration, formatPercent, formatRate } from '../../lib/units/units.js'
import type { LabState } from '../../switch-emu/lab/lab-state.js'
import type { HostStatus, LabStatus, PortStatus } from '../../switch-emu/lab/lab-status.js'

export function printUp({ name, hosts }: LabState): string {
  const list = hosts.map(host => `${host.name} ${host.address}`).join(', ')
  const [first] = hosts
  const last = hosts[hosts.length - 1]
  return (
    `lab ${name} is up: ${list}\n` +
    `  weir lab exec ${name} ${first!.name} -- ping ${last!.name}\n` +
    `  weir lab status ${name}\n` +
    `  weir lab down ${name}\n`
  )
}

export function printLabs(labs: readonly { name: string; state: string; file: string }[]): string {
  if (labs.length === 0) return 'no lab is up\n'
  const rows = labs.map(({ name, state, file }) => [name, state, file])
  return table(['lab', 'state', 'file'], rows, 3)
}

export function printStatus(status: LabStatus): string {
  const head = `lab ${status.name}: ${status.state}, from ${status.file}\n`
  if (status.state === 'broken') {
    return `${head}What is left of it is in the way: weir lab down ${status.name}\n`
  }
  const parts = [head, hostTable(status.hosts)]
  if (!status.switch.alive) parts.push(`The switch process has ended. ${status.switch.said}\n`)
  if (status.ports.length > 0) parts.push(portTable(status.ports))
  return parts.join('\n')
}

function hostTable(hosts: readonly HostStatus[]): string {
  const rows = hosts.map(({ name, address, mac, alive, pid, said }) => [
    name,
    address,
    mac,
    alive ? `pid ${pid}` : said || 'ended',
  ])
  return table(['host', 'address', 'mac', 'daemon'], rows, 4)
}

function portTable(ports: readonly PortStatus[]): string {
  const head = ['port', 'rate', 'sending', 'busy', 'queue', 'peak', 'drops', 'marks', 'pauses', 'paused']
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
  ])
  return table(head, rows, 1)
}
