/**
 * The verbs of a NIC with sealed connections. They have CM ports of their own, as https has beside http, so the ends know from the first
 * message what they speak. The end that connects decides by its own settings whether the connection is sealed. No answer changes that, so
 * nobody on the path can have it made in the clear.
 */
import type { BlockList } from 'node:net'
import { WeirError } from '../errors.js'
import type {
  Connection,
  ConnectionHandler,
  ConnectionRequest,
  ConnectOptions,
  Listener,
  SealedPeer,
  Verbs,
} from '../nic/types.js'
import type { DomainId, MemoryTable } from '../qp/memory/memory.js'
import { type Nanos, SECOND } from '../time/nanos.js'
import type { HostAddress } from '../wire/net/address.js'
import { BounceMemory } from './bounce-memory.js'
import { keyText } from './key-text.js'
import type { KnownPeers, Permission } from './known-peers.js'
import { type EndOptions, SealedEnd } from './sealed-end.js'
import type { KeyPair } from './x25519.js'

/** From the CM port of an application to that of its sealed connections. */
const SEALED_PORTS = 100
const HANDSHAKE_WITHIN_NS = 10 * SECOND
/** Handshakes under way; beyond so many the oldest one ends. */
const SHAKING_MAX = 256
const NOTHING = new Uint8Array(0)

interface SealSettings {
  staticKey: KeyPair
  /** 32 bytes; zeros where the hosts share no secret. */
  psk: Uint8Array
  hasSecret: boolean
  /** Null: hosts know each other by the secret alone. */
  known: KnownPeers | null
  /** Hosts that are not known get a line in the file when this host connects to them. */
  acceptsNew: boolean
  /** With whom connections are in the clear, in both directions. */
  clear: BlockList
  /** What a request of an application is for; null: every known host may. */
  permissionOf(port: number, privateData: Uint8Array): Permission | null
}

export class SealedVerbs implements Verbs {
  readonly #verbs: Verbs
  readonly #settings: SealSettings
  /** Handshakes under way, oldest first, and since when. */
  readonly #shaking = new Map<SealedEnd, Nanos>()
  /** Connections that were sealed, and handshakes that failed, since the start. */
  readonly counters = { sealed: 0, refused: 0 }

  constructor(verbs: Verbs, settings: SealSettings) {
    this.#verbs = verbs
    this.#settings = settings
  }

  /** How hosts prove who they are, in words. */
  get by(): string {
    const { known, hasSecret } = this.#settings
    if (known === null) return 'secret'
    return hasSecret ? 'key and secret' : 'key'
  }

  /** This host's key; '' where it has one for this run only. */
  get publicKey(): string {
    const { known, staticKey } = this.#settings
    return known === null ? '' : keyText(staticKey.publicKey)
  }

  get memory(): MemoryTable {
    return this.#verbs.memory
  }

  get address(): HostAddress {
    return this.#verbs.address
  }

  listen(port: number, listener: Listener): void {
    this.#verbs.listen(port, { accept: (now, request) => this.#acceptClear(now, listener, request) })
    const accept = (now: Nanos, request: ConnectionRequest) => this.#accept(now, listener, request, port)
    this.#verbs.listen(sealedPort(port), { accept })
  }

  unlisten(port: number): void {
    this.#verbs.unlisten(port)
    this.#verbs.unlisten(sealedPort(port))
  }

  connect(
    now: Nanos,
    remote: HostAddress,
    port: number,
    handler: ConnectionHandler,
    options: ConnectOptions = {},
  ): Connection {
    if (this.#isClear(remote)) return this.#verbs.connect(now, remote, port, handler, options)
    const { peerName, privateData = NOTHING } = options
    const names = [...(peerName === undefined ? [] : [peerName]), remote.toString()]
    const end = this.#newEnd(now, handler, {
      isActive: true,
      port,
      privateData,
      judge: key => this.#judgeCalled(names, key),
    })
    try {
      this.#verbs.connect(now, remote, sealedPort(port), end, options)
    } catch (error) {
      this.#shaking.delete(end)
      throw error
    }
    return end.connection!
  }

  /** Ends handshakes that take too long. Call it about every second. */
  tick(now: Nanos): void {
    for (const [end, sinceNs] of this.#shaking) {
      if (now - sinceNs < HANDSHAKE_WITHIN_NS) return
      this.#giveUp(
        now,
        end,
        `the other end did not finish the handshake within ${HANDSHAKE_WITHIN_NS / SECOND} s`,
      )
    }
  }

  #acceptClear(now: Nanos, listener: Listener, request: ConnectionRequest): ConnectionHandler {
    if (this.#isClear(request.remote)) return listener.accept(now, request)
    const text = `this host takes only sealed connections: give your daemon a key (weir key new), or have this one allow you without (--allow-clear ${request.remote})`
    throw new WeirError('WEIR_REJECTED', text)
  }

  #accept(now: Nanos, listener: Listener, request: ConnectionRequest, port: number): ConnectionHandler {
    const what = this.#settings.permissionOf(port, request.privateData)
    const handler = listener.accept(now, { ...request, port })
    return this.#newEnd(now, handler, {
      isActive: false,
      port,
      privateData: request.privateData,
      judge: key => this.#judgeCaller(key, what),
    })
  }

  #newEnd(
    now: Nanos,
    handler: ConnectionHandler,
    about: Pick<EndOptions, 'isActive' | 'port' | 'privateData' | 'judge'>,
  ): SealedEnd {
    const { staticKey, psk } = this.#settings
    if (this.#shaking.size === SHAKING_MAX) {
      const [[oldest]] = [...this.#shaking] as [[SealedEnd, Nanos]]
      this.#giveUp(now, oldest, 'too many handshakes are under way')
    }
    const end = new SealedEnd(handler, {
      ...about,
      staticKey,
      psk,
      memory: (domain: DomainId | undefined) => new BounceMemory(this.memory, domain),
      onShaken: (shaken, error) => {
        this.#shaking.delete(shaken)
        if (error === null) this.counters.sealed++
        else this.counters.refused++
      },
    })
    this.#shaking.set(end, now)
    return end
  }

  #giveUp(now: Nanos, end: SealedEnd, why: string): void {
    this.#shaking.delete(end)
    end.giveUp(now, new WeirError('WEIR_UNREACHABLE', why))
  }

  #isClear(remote: HostAddress): boolean {
    return this.#settings.clear.check(remote.toString(), remote.family === 4 ? 'ipv4' : 'ipv6')
  }

  /** The key of a host that this one connects to. Throws WEIR_UNKNOWN_KEY, WEIR_KEY_CHANGED. */
  #judgeCalled(names: readonly string[], publicKey: Uint8Array): SealedPeer {
    const { known, acceptsNew } = this.#settings
    const name = names[0]!
    const key = keyText(publicKey)
    if (known === null) return { name: '', key: '' }
    known.refresh()
    const is = known.check(names, publicKey)
    if (is === 'unknown' && acceptsNew) known.add(name, publicKey)
    else if (is === 'unknown')
      throw new WeirError(
        'WEIR_UNKNOWN_KEY',
        `${name} has the key ${key}, and ${known.path} does not know it: compare it with what weir key show prints there, and add the line "${name} ${key}" (or start the daemon with --accept-new)`,
      )
    else if (is === 'changed')
      throw new WeirError(
        'WEIR_KEY_CHANGED',
        `${name} has another key than the one in ${known.path}: it now shows ${key}. Somebody may be in its place. If its key was made anew, replace its line there`,
      )
    return { name: known.nameOf(publicKey) ?? name, key }
  }

  /** The key of a host that connects here. Throws WEIR_UNKNOWN_KEY, WEIR_REJECTED. */
  #judgeCaller(publicKey: Uint8Array, what: Permission | null): SealedPeer {
    const { known } = this.#settings
    if (known === null) return { name: '', key: '' }
    const key = keyText(publicKey)
    try {
      known.refresh()
    } catch (cause) {
      // Where the file is, and what is wrong with it, is no concern of the peer's.
      throw new WeirError('WEIR_REJECTED', 'its file of known peers cannot be read', { cause })
    }
    const name = known.nameOf(publicKey)
    if (name === null)
      throw new WeirError(
        'WEIR_UNKNOWN_KEY',
        `it does not know the key ${key}: add it to its known peers (--peers)`,
      )
    if (what === null || known.allows(publicKey, what)) return { name, key }
    throw new WeirError('WEIR_REJECTED', `the key ${key} may not ${what} there: see may= in its known peers`)
  }
}

/** Refuses sealed connections in words, where a host has no key. */
export function refuseSealed(verbs: Verbs, port: number): void {
  const text =
    'this host has no key and takes connections in the clear only: give its daemon one (weir key new), or allow it without (--allow-clear)'
  verbs.listen(sealedPort(port), {
    accept: () => {
      throw new WeirError('WEIR_REJECTED', text)
    },
  })
}

function sealedPort(port: number): number {
  return port + SEALED_PORTS
}
