/** Makes verbs with sealed connections, for a host that has a key or a secret. */
import { hkdfSync } from 'node:crypto'
import { BlockList, isIP } from 'node:net'
import { WeirError } from '../errors.js'
import type { Verbs } from '../nic/types.js'
import { configPath } from './identity-file.js'
import { KnownPeers, type Permission } from './known-peers.js'
import { SealedVerbs } from './sealed-verbs.js'
import { KEY_BYTES, keyPairOf, newKeyPair } from './x25519.js'

/** What decides with whom connections are sealed. */
export interface SealingOptions {
  /** This host's private key, 32 bytes. Default: none. */
  identity?: Uint8Array
  /** File of known peers. Default: known_peers in the folder of the user's settings. Needs an identity. */
  peers?: string
  /** Hosts that this one connects to and does not know get a line there. Default false. */
  acceptNew?: boolean
  /** Addresses, or ADDRESS/BITS, with which connections are in the clear although this host has a key. 'any': all. */
  allowClear?: readonly string[]
}

/** How messages call the options. */
type SealingNames = Readonly<Record<keyof SealingOptions | 'secret', string>>

/**
 * Null: connections are in the clear. Throws WEIR_BAD_ARGUMENT, WEIR_NO_FILE.
 * @param permissionOf what a request is for; null: every known host may
 */
export function sealVerbs(
  verbs: Verbs,
  { identity, peers, acceptNew = false, allowClear = [] }: SealingOptions,
  secret: Uint8Array | undefined,
  names: SealingNames,
  permissionOf: (port: number, privateData: Uint8Array) => Permission | null,
): SealedVerbs | null {
  if (identity === undefined)
    refuseWithout(names.identity, { [names.peers]: peers, [names.acceptNew]: acceptNew || undefined })
  if (identity === undefined && secret === undefined) {
    refuseWithout(`${names.identity} or ${names.secret}`, {
      [names.allowClear]: allowClear.length > 0 || undefined,
    })
    return null
  }
  return new SealedVerbs(verbs, {
    // Hosts that share a secret know each other by that: their keys are for one run.
    staticKey: identity === undefined ? newKeyPair() : keyPairOf(identity),
    psk: secret === undefined ? new Uint8Array(KEY_BYTES) : pskOf(secret),
    hasSecret: secret !== undefined,
    known: identity === undefined ? null : KnownPeers.read(peers ?? configPath('known_peers')),
    acceptsNew: acceptNew,
    clear: listOf(allowClear, names.allowClear),
    permissionOf,
  })
}

function pskOf(secret: Uint8Array): Uint8Array {
  return Buffer.from(hkdfSync('sha256', secret, '', 'weir sealed 1 psk', KEY_BYTES))
}

function listOf(texts: readonly string[], name: string): BlockList {
  const list = new BlockList()
  for (const text of texts) {
    if (text === 'any') {
      list.addSubnet('0.0.0.0', 0, 'ipv4')
      list.addSubnet('::', 0, 'ipv6')
      continue
    }
    const [address = '', bits, ...more] = text.split('/')
    const family = isIP(address)
    const most = family === 4 ? 32 : 128
    const prefix = bits === undefined ? most : /^\d+$/.test(bits) ? Number(bits) : most + 1
    if (family === 0 || prefix > most || more.length > 0)
      throw new WeirError('WEIR_BAD_ARGUMENT', `${name} is ADDRESS, ADDRESS/BITS or any, not "${text}"`)
    list.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6')
  }
  return list
}

function refuseWithout(needed: string, given: Record<string, unknown>): void {
  const name = Object.keys(given).find(name => given[name] !== undefined)
  if (name === undefined) return
  throw new WeirError(
    'WEIR_BAD_ARGUMENT',
    `${name} has no effect without ${needed}: make a key with weir key new`,
  )
}
