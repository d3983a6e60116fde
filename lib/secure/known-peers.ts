/**
 * Which hosts have which keys, and what each may do here: a file of lines as ssh's known_hosts and authorized_keys are.
 *
 *     NAME[,NAME…] KEY [may=send,get,perf,tunnel]
 *
 * A name is what a user types or an address. A host that this one connects to has to have the key that stands by its name. A host that connects
 * here has to have any of the keys, because it may have any address.
 */
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { WeirError } from '../errors.js'
import { whyNotRead } from '../file-reason.js'
import { keyOfText, keyText } from './key-text.js'

/** What a host may be allowed to do. */
const PERMISSIONS = ['send', 'get', 'perf', 'tunnel'] as const
export type Permission = (typeof PERMISSIONS)[number]

const MAY = 'may='
/** Bytes of a file that is read. */
const FILE_BYTES_MAX = 1 << 20

interface KnownPeer {
  names: readonly string[]
  key: string
  may: readonly string[]
}

export class KnownPeers {
  readonly path: string
  #peers: KnownPeer[]
  #endsInLine: boolean

  /** Throws WEIR_NO_FILE, and WEIR_BAD_ARGUMENT with the line. A file that does not exist knows nobody. */
  static read(path: string): KnownPeers {
    let text = ''
    try {
      text = readFileSync(path, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        throw new WeirError('WEIR_NO_FILE', `${path}: ${whyNotRead(error)}`, { cause: error })
    }
    if (text.length > FILE_BYTES_MAX)
      throw new WeirError('WEIR_BAD_ARGUMENT', `${path}: it has more than ${FILE_BYTES_MAX} bytes`)
    return new KnownPeers(path, parse(path, text), text !== '' && !text.endsWith('\n'))
  }

  private constructor(path: string, peers: KnownPeer[], endsInLine: boolean) {
    this.path = path
    this.#peers = peers
    this.#endsInLine = endsInLine
  }

  /** Reads the file again, so that a running daemon goes by what a user has added or taken out. Throws as `read`. */
  refresh(): void {
    const read = KnownPeers.read(this.path)
    this.#peers = read.#peers
    this.#endsInLine = read.#endsInLine
  }

  /** What is known of a host that this one connects to: its key is right, or another one, or not known. */
  check(names: readonly string[], publicKey: Uint8Array): 'known' | 'changed' | 'unknown' {
    const key = keyText(publicKey)
    const named = this.#peers.filter(peer => peer.names.some(name => names.includes(name)))
    if (named.some(peer => peer.key === key)) return 'known'
    return named.length > 0 ? 'changed' : 'unknown'
  }

  /** Name of the host that has the key, null if none has. */
  nameOf(publicKey: Uint8Array): string | null {
    const key = keyText(publicKey)
    return this.#peers.find(peer => peer.key === key)?.names[0] ?? null
  }

  /** True if a host with the key may do that here. */
  allows(publicKey: Uint8Array, what: Permission): boolean {
    const key = keyText(publicKey)
    return this.#peers.some(peer => peer.key === key && peer.may.includes(what))
  }

  /** Adds a host that this one has connected to. It may do nothing here by that. Throws WEIR_NO_FILE. */
  add(name: string, publicKey: Uint8Array): void {
    const line = `${name} ${keyText(publicKey)} ${MAY}none\n`
    try {
      mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 })
      // Who wrote the file may have left its last line without an end.
      const start = this.#endsInLine ? '\n' : ''
      appendFileSync(this.path, start + line, { mode: 0o600 })
    } catch (error) {
      throw new WeirError('WEIR_NO_FILE', `${this.path}: ${whyNotRead(error)}`, { cause: error })
    }
    this.refresh()
  }
}

function parse(path: string, text: string): KnownPeer[] {
  const peers: KnownPeer[] = []
  for (const [i, line] of text.split('\n').entries()) {
    const [names = '', key = '', may = '', ...more] = line.replace(/#.*/, '').trim().split(/\s+/)
    if (names === '') continue
    const rights = may === '' ? PERMISSIONS : may.slice(MAY.length).split(',')
    const isMay = may === '' || (may.startsWith(MAY) && rights.every(right => isRight(right)))
    if (keyOfText(key) === null || !isMay || more.length > 0) {
      const form = `NAME[,NAME…] KEY [${MAY}${PERMISSIONS.join(',')}]`
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `${path}, line ${i + 1}: it is not ${form}; KEY is what weir key show prints`,
      )
    }
    peers.push({ names: names.split(','), key, may: rights })
  }
  return peers
}

function isRight(text: string): boolean {
  return text === 'none' || (PERMISSIONS as readonly string[]).includes(text)
}
