/** Makes the verbs of a daemon: with sealed connections if it has a key or a secret. */
import { hkdfSync } from 'node:crypto'
import { BlockList, isIP } from 'node:net'
import { WeirError } from '../errors.js'
import type { Verbs } from '../nic/types.js'
import { PERF_PORT } from '../perf/messages.js'
import { configPath } from '../secure/identity-file.js'
import { KnownPeers, type Permission } from '../secure/known-peers.js'
import { refuseSealed, SealedVerbs } from '../secure/sealed-verbs.js'
import { KEY_BYTES, keyPairOf, newKeyPair } from '../secure/x25519.js'
import { FETCH_PRIVATE_DATA, GET_PRIVATE_DATA, TRANSFER_PORT } from '../transfer/protocol/messages.js'
import { TUNNEL_PORT } from '../tunnel/messages.js'

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

/** Null: connections are in the clear. Throws WEIR_BAD_ARGUMENT, WEIR_NO_FILE. */
export function sealVerbs(
  verbs: Verbs,
  { identity, peers, acceptNew = false, allowClear = [] }: SealingOptions,
  secret: Uint8Array | undefined,
): SealedVerbs | null {
  if (identity === undefined)
    refuseWithout('--identity', { '--peers': peers, '--accept-new': acceptNew || undefined })
  if (identity === undefined && secret === undefined) {
    refuseWithout('--identity or --key-file', { '--allow-clear': allowClear.length > 0 || undefined })
    for (const port of [TRANSFER_PORT, PERF_PORT, TUNNEL_PORT]) refuseSealed(verbs, port)
    return null
  }
  return new SealedVerbs(verbs, {
    // Hosts that share a secret know each other by that: their keys are for one run.
    staticKey: identity === undefined ? newKeyPair() : keyPairOf(identity),
    psk: secret === undefined ? new Uint8Array(KEY_BYTES) : pskOf(secret),
    hasSecret: secret !== undefined,
    known: identity === undefined ? null : KnownPeers.read(peers ?? configPath('known_peers')),
    acceptsNew: acceptNew,
    clear: listOf(allowClear),
    permissionOf,
  })
}

/** What a request is for. */
function permissionOf(port: number, privateData: Uint8Array): Permission {
  if (port === PERF_PORT) return 'perf'
  if (port === TUNNEL_PORT) return 'tunnel'
  const [what] = privateData
  return what === GET_PRIVATE_DATA[0] || what === FETCH_PRIVATE_DATA[0] ? 'get' : 'send'
}

function pskOf(secret: Uint8Array): Uint8Array {
  return Buffer.from(hkdfSync('sha256', secret, '', 'weir sealed 1 psk', KEY_BYTES))
}

function listOf(texts: readonly string[]): BlockList {
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
      throw new WeirError('WEIR_BAD_ARGUMENT', `--allow-clear is ADDRESS, ADDRESS/BITS or any, not "${text}"`)
    list.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6')
  }
  return list
}

function refuseWithout(needed: string, given: Record<string, unknown>): void {
  const flag = Object.keys(given).find(flag => given[flag] !== undefined)
  if (flag === undefined) return
  throw new WeirError(
    'WEIR_BAD_ARGUMENT',
    `${flag} has no effect without ${needed}: make a key with weir key new`,
  )
}
