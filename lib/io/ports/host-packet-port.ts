import { networkInterfaces } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { WeirError } from '../../errors.js'
import type { Frame } from '../../frame/frame.js'
import type { FramePool } from '../../frame/frame-pool.js'
import type { HostAddress } from '../../wire/net/address.js'
import { type MacAddress, parseMac } from '../../wire/net/mac.js'
import * as udp from '../../wire/net/udp.js'
import { ArrivalClock } from '../linux/arrival-clock.js'
import { ProtocolGuard } from '../linux/protocol-guard.js'
import { roceFilter } from '../linux/roce-filter.js'
import { UdpGuard } from '../linux/udp-guard.js'
import { PacketPort } from './packet-port.js'

const UP_TRIES = 40
const UP_RETRY_MS = 50

type Guard = UdpGuard | ProtocolGuard

interface HostPacketPortOptions {
  pool: FramePool
  /** This host's address on one of its interfaces. */
  address: HostAddress
  /** The interface that has the address. Default: it is searched by the address. */
  interface?: string
  /** See PacketPortOptions. */
  ringBytes?: number
  /** LLDP frames arrive too. Default false. */
  lldp?: boolean
}

/**
 * A host's NIC on a network interface (Linux, CAP_NET_RAW). It uses raw frames, so it sees what ordinary
 * sockets hide: TOS with ECN marks, the IP identification, and PFC. It receives RoCEv2 to its address and MAC
 * control frames, and may send anything. The kernel's own stack handles everything else. Sockets that receive
 * nothing occupy the UDP ports and IFA's IP protocol. Otherwise the kernel would answer each packet with
 * "port unreachable" or "protocol unreachable".
 */
export class HostPacketPort extends PacketPort {
  /** The interface's name, and its address. */
  readonly interface: string
  readonly mac: MacAddress
  readonly #guards: readonly Guard[]
  readonly #arrivals = new ArrivalClock()
  #closing = () => {}

  /**
   * Throws WEIR_BAD_ARGUMENT when no interface has the address or a port is in use, and everything that
   * PacketPort throws.
   */
  static open(options: HostPacketPortOptions): HostPacketPort {
    const found = findInterface(options.address, options.interface)
    if (found === null) throw notFound(options.address, options.interface)
    const { name, mac } = found
    const guards: Guard[] = []
    try {
      for (const port of [udp.PORT_ROCE, udp.PORT_INT]) guards.push(new UdpGuard(options.address, port))
      guards.push(new ProtocolGuard(options.address, options.pool.ifaProtocol))
      return new HostPacketPort(options, name, mac, guards)
    } catch (error) {
      for (const guard of guards) guard.close()
      throw error
    }
  }

  private constructor(
    options: HostPacketPortOptions,
    name: string,
    mac: MacAddress,
    guards: readonly Guard[],
  ) {
    const { pool, address, ringBytes, lldp = false } = options
    super({ pool, interface: name, ringBytes, filter: roceFilter(address, pool.ifaProtocol, lldp) })
    this.interface = name
    this.mac = mac
    this.#guards = guards
  }

  /** `callback` is called when the port has been closed. */
  onClose(callback: () => void): void {
    this.#closing = callback
  }

  override receive(): Frame | null {
    const frame = super.receive()
    if (frame !== null) frame.arrivedNs = this.arrivedNs(this.#arrivals)
    return frame
  }

  override async close(): Promise<void> {
    await super.close()
    for (const guard of this.#guards) guard.close()
    this.#closing()
    this.#closing = () => {}
  }
}

/**
 * Resolves when an interface with that address is up, or after 2 s. A new interface takes a moment to come
 * up.
 */
export async function interfaceUp(address: HostAddress, name?: string): Promise<void> {
  for (let left = UP_TRIES; left > 0 && findInterface(address, name) === null; left--)
    await sleep(UP_RETRY_MS)
}

/** Returns the interface that has the address. If one was named, it must be that one. */
function findInterface(address: HostAddress, wanted?: string): { name: string; mac: MacAddress } | null {
  const text = address.toString()
  // Node lists interfaces that are up and have a carrier.
  for (const [name, addresses] of Object.entries(networkInterfaces())) {
    if (wanted !== undefined && name !== wanted) continue
    const found = addresses?.find(entry => entry.address === text)
    if (found !== undefined) return { name, mac: parseMac(found.mac) }
  }
  return null
}

function notFound(address: HostAddress, wanted?: string): WeirError {
  const what =
    wanted === undefined
      ? `no interface that is up has the address ${address}`
      : `interface ${wanted} is not there, or is down, or has not the address ${address}`
  return new WeirError('WEIR_BAD_ARGUMENT', `packet port: ${what}; "ip address" lists what there is`)
}
