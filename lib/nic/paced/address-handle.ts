import { WeirError } from '../../errors.js'
import type { PreparedHeaders } from '../../frame/prepared-headers.js'
import { checkOneHost, type HostAddress } from '../../wire/net/address.js'
import type { NicSettings } from '../config.js'
import type { HostHeaders } from '../tx/host-headers.js'

/** First of the UDP source ports of RoCEv2. */
const PORT_FIRST = 0xc000

/** What an address handle may say beside the address. */
export interface AddressOptions {
  /** UDP port of RoCEv2 there, 1 to 65534. Default: the same as this host's. */
  udpPort?: number
  /** Priority of the packets, 0 to 7: it chooses their DSCP. Default: the NIC's. */
  priority?: number
}

/** A host that datagrams go to, with headers that are prepared once (the verbs' ibv_ah). */
export class AddressHandle {
  readonly id: number
  readonly remote: HostAddress
  readonly priority: number
  /** UDP port there; 0 for this host's. */
  readonly udpPort: number
  readonly #settings: NicSettings
  readonly #make: () => PreparedHeaders
  #headers: PreparedHeaders
  #mac: unknown

  /** Throws WEIR_BAD_ARGUMENT, and WEIR_UNSUPPORTED for a multicast or broadcast address. */
  constructor(
    id: number,
    remote: HostAddress,
    options: AddressOptions,
    settings: NicSettings,
    headers: HostHeaders,
  ) {
    const { priority = settings.priority, udpPort = settings.udpPort } = options
    checkAddress(remote, settings.address)
    checkWhole('priority', priority, 0, 7)
    checkWhole('udpPort', udpPort, 1, 65_534)
    this.id = id
    this.remote = remote
    this.priority = priority
    this.udpPort = udpPort === settings.udpPort ? 0 : udpPort
    this.#settings = settings
    const sourcePort = PORT_FIRST + (id & 0x3fff)
    this.#make = () => headers.forFlow(remote, sourcePort, settings.dscpOfPriority[priority]!)
    this.#mac = settings.macOfPeer?.(remote)
    this.#headers = this.#make()
  }

  /** The MAC address of the peer may become known, or change. */
  get headers(): PreparedHeaders {
    const { macOfPeer } = this.#settings
    if (macOfPeer !== undefined) {
      const mac = macOfPeer(this.remote)
      if (mac !== this.#mac) {
        this.#mac = mac
        this.#headers = this.#make()
      }
    }
    return this.#headers
  }
}

function checkAddress(remote: HostAddress, own: HostAddress): void {
  checkOneHost('address handle', remote)
  if (remote.family !== own.family)
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `address handle: ${remote} is no address of the family of ${own}`,
    )
}

function checkWhole(name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return
  throw new WeirError('WEIR_BAD_ARGUMENT', `address handle: ${name} is ${least} to ${most}, not ${value}`)
}
