/** Tries the ports of a lab's switch, in namespaces that end with the trial. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { PacketPort } from '../../lib/io/packet-port.js'
import { inNewNamespaces, type Privilege } from './namespaces.js'
import { turnOffloadsOff } from './offloads.js'
import { runCommand } from './run-command.js'

const WEIR = fileURLToPath(new URL('../../bin/weir.js', import.meta.url))
const FRAMES = 512

/** Why a packet port cannot be had on a veth pair, or null. */
export function probePacketSockets(privilege: Privilege): string | null {
  const [program, ...args] = [
    ...inNewNamespaces(privilege),
    process.execPath,
    WEIR,
    'internal',
    'probe-packet',
  ]
  const tried = spawnSync(program!, args, { encoding: 'utf8', timeout: 30_000 })
  if (tried.status === 0) return null
  return tried.stderr.trim() || `exit code ${tried.status}`
}

/** The body of `weir internal probe-packet`: within namespaces of its own. Throws what the port throws. */
export async function probePacketPort(): Promise<void> {
  await runCommand(['ip', 'link', 'add', 'weir0', 'up', 'type', 'veth', 'peer', 'name', 'weir1'])
  turnOffloadsOff(['weir0'])
  await new PacketPort({ pool: new FramePool(FRAMES), interface: 'weir0' }).close()
}
