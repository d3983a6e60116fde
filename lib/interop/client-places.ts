/** The places of a listening end: a client that is silent gives its own to one that comes when all are taken. */
import { WeirError } from '../errors.js'

/** Clients at a time, if nobody says how many. A further one is turned away, unless one is silent. */
const PLACES = 16
/** A client that has said nothing for so long may lose its place. */
export const SILENT_MS = 60_000

export interface Client {
  readonly remote: string
  /** When it has last said something, by `performance.now()`. */
  readonly heardMs: number
  /** It has to go. */
  giveUp(why: WeirError): void
}

export class ClientPlaces<Of extends Client> {
  readonly #silentMs: number
  readonly #most: number
  readonly #clients = new Set<Of>()

  constructor(silentMs = SILENT_MS, most = PLACES) {
    this.#silentMs = silentMs
    this.#most = most
  }

  get count(): number {
    return this.#clients.size
  }

  get clients(): Iterable<Of> {
    return this.#clients
  }

  /** There is a place, at once or by ending a silent client. */
  hasRoom(): boolean {
    if (this.#clients.size < this.#most) return true
    const silent = this.#mostSilent()
    if (silent === null) return false
    this.#clients.delete(silent)
    const text = `${silent.remote} has said nothing for ${this.#silentMs / 1000} s, and another client has come for its place`
    silent.giveUp(new WeirError('WEIR_UNREACHABLE', text))
    return true
  }

  /** Call after `hasRoom`. */
  add(client: Of): void {
    this.#clients.add(client)
  }

  /** Harmless when it has lost its place. */
  delete(client: Of): void {
    this.#clients.delete(client)
  }

  /** What a client hears of that finds no place. */
  noPlace(): WeirError {
    return new WeirError('WEIR_FULL', `turned away: ${this.#most} clients are here, as many as may`)
  }

  /** The host with the most places loses one: the client that has been silent for longest. Null: none for long enough. */
  #mostSilent(): Of | null {
    const from = performance.now() - this.#silentMs
    const counts = new Map<string, number>()
    for (const { remote } of this.#clients) counts.set(remote, (counts.get(remote) ?? 0) + 1)
    const before = (a: Of, b: Of) => counts.get(b.remote)! - counts.get(a.remote)! || a.heardMs - b.heardMs
    const silent = [...this.#clients].filter(({ heardMs }) => heardMs <= from)
    return silent.sort(before)[0] ?? null
  }
}
