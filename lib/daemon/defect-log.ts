import type { Logger } from '../log.js'

/** Different defects that are logged: further ones are only counted. */
const KINDS_MAX = 64

/** Writes each kind of defect to the log once, with its stack: one that shows at every packet must not fill a disk. */
export class DefectLog {
  readonly #log: Logger
  /** By stack. */
  readonly #kinds = new Set<string>()

  constructor(log: Logger) {
    this.#log = log
  }

  add(defect: unknown): void {
    const kind = defect instanceof Error ? (defect.stack ?? defect.message) : String(defect)
    if (this.#kinds.has(kind) || this.#kinds.size === KINDS_MAX) return
    this.#kinds.add(kind)
    this.#log.error(
      { err: defect },
      'a defect in Weir has ended a connection, or dropped a datagram: please report it. weir status counts such defects as nic.defects',
    )
  }
}
