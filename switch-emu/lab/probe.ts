/** Tries the ports of a lab's switch, in namespaces that end with the trial. */
import { spawnSync } from 'node:child_process'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { PacketSocket } from '../../lib/io/linux/packet-socket.js'
import { PacketPort } from '../../lib/io/ports/packet-port.js'
import { weirProgram } from '../../lib/package-file.js'
import * as ethernet from '../../lib/wire/net/ethernet.js'
import { inNewNamespaces, type Privilege } from './namespaces.js'
import { turnOffloadsOff } from './offloads.js'
import { runCommand } from './run-command.js'

const WEIR = weirProgram()
const FRAMES = 512

/** The probe prints this when a capture sees frames that a port sends. */
const SEEN = 'seen by captures'
/** A protocol that no kernel handles: IEEE's local experimental EtherType. */
const ETHER_TYPE = 0x88b5

interface PacketSocketTrial {
  /** Why a packet port does not work on a veth pair, or null. */
  fault: string | null
  /** True if a capture on the interface sees the frames that the port sends. */
  seen: boolean
}

export function probePacketSockets(privilege: Privilege): PacketSocketTrial {
  const [program, ...args] = [
    ...inNewNamespaces(privilege),
    process.execPath,
    WEIR,
    'internal',
    'probe-packet',
  ]
  const tried = spawnSync(program!, args, { encoding: 'utf8', timeout: 30_000 })
  const fault = tried.status === 0 ? null : tried.stderr.trim() || `exit code ${tried.status}`
  return { fault, seen: tried.stdout.trim() === SEEN }
}

/**
 * The body of `weir internal probe-packet`, which runs in namespaces of its own. Throws what the port throws.
 */
export async function probePacketPort(): Promise<void> {
  await runCommand(['ip', 'link', 'add', 'weir0', 'up', 'type', 'veth', 'peer', 'name', 'weir1'])
  await runCommand(['ip', 'link', 'set', 'weir1', 'up'])
  turnOffloadsOff(['weir0'])
  const pool = new FramePool(FRAMES)
  const port = new PacketPort({ pool, interface: 'weir0' })
  const capture = new PacketSocket('weir0')
  capture.bind()
  const frame = pool.take()!
  ethernet.write(frame.view, 0, 0, 0, ETHER_TYPE)
  frame.length = frame.wireLength = ethernet.BYTES
  port.transmit(frame)
  port.flush()
  if (capture.takeSeen() > 0) process.stdout.write(`${SEEN}\n`)
  capture.close()
  await port.close()
}
