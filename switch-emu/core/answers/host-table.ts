import type { HostAddress } from '../../../lib/wire/net/address.js'
import type { MacAddress } from '../../../lib/wire/net/mac.js'

/** The hosts for which a switch answers: MAC by address. */
export class HostTable {
  readonly #v4 = new Map<number, MacAddress>()
  /** By the sixteen bytes in hex. */
  readonly #v6 = new Map<string, MacAddress>()

  add(address: HostAddress, mac: MacAddress): void {
    if (address.family === 4) this.#v4.set(address.ipv4, mac)
    else this.#v6.set(Buffer.from(address.gid).toString('hex'), mac)
  }

  /** MAC of an IPv4 host, or -1. */
  mac4(address: number): MacAddress {
    return this.#v4.get(address) ?? -1
  }

  /** MAC of the IPv6 host whose address is at that offset, or -1. */
  mac6(bytes: Buffer, at: number): MacAddress {
    return this.#v6.get(bytes.toString('hex', at, at + 16)) ?? -1
  }
}
