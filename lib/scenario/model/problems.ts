import { type Document, isAlias, isMap, isScalar, isSeq, type LineCounter } from 'yaml'
import { type ErrorCode, WeirError } from '../../errors.js'

/** The path of a value in the document: keys and indices from the root. */
export type DocumentPath = readonly (string | number)[]

/** Where the document names each node of the network, for messages. */
export type NodePlaces = ReadonlyMap<string, DocumentPath>

/** Problems that one report lists. It counts the rest. */
const SHOWN_MAX = 50
/** Problems that are kept. A file with more is probably no scenario. */
const KEPT_MAX = 1000
const MESSAGE_MAX = 500

/** Collects all problems of a file, each with its place in the file. */
export class Problems {
  readonly #file: string
  readonly #lines: LineCounter
  readonly #code: ErrorCode
  #document: Document | null = null
  readonly #found: { offset: number; message: string }[] = []

  /** @param code of the error that `throwIfAny` throws. Default: that of scenario files */
  constructor(file: string, lines: LineCounter, code: ErrorCode = 'WEIR_BAD_SCENARIO') {
    this.#file = file
    this.#lines = lines
    this.#code = code
  }

  get count(): number {
    return this.#found.length
  }

  /** The document in which `at` looks up paths. */
  set document(document: Document) {
    this.#document = document
  }

  /**
   * `file:line:column` of the value at `path`. If there is no such value, of the nearest one that encloses
   * it.
   */
  placeOf(path: DocumentPath): string {
    return this.#place(this.#locate(path, false))
  }

  /** Reports a problem with the value at `path`, or with the nearest value that encloses it. */
  at(path: DocumentPath, message: string): void {
    this.#add(this.#locate(path, false), message)
  }

  /** Reports a problem with the last key of `path`, not with its value. */
  atKey(path: DocumentPath, message: string): void {
    this.#add(this.#locate(path, true), message)
  }

  atOffset(offset: number, message: string): void {
    this.#add(offset, message)
  }

  /** Throws its code with every problem, in the file's order. Does nothing if there is none. */
  throwIfAny(): void {
    if (this.#found.length === 0) return
    const sorted = this.#found.sort((x, y) => x.offset - y.offset)
    const lines = sorted.slice(0, SHOWN_MAX).map(({ offset, message }) => {
      return `${this.#place(offset)}: ${message}`
    })
    if (sorted.length > SHOWN_MAX) lines.push(`${this.#file}: and ${sorted.length - SHOWN_MAX} more problems`)
    throw new WeirError(this.#code, lines.join('\n'))
  }

  #place(offset: number): string {
    const { line, col } = this.#lines.linePos(offset)
    return `${this.#file}:${Math.max(1, line)}:${Math.max(1, col)}`
  }

  #add(offset: number, text: string): void {
    if (this.#found.length === KEPT_MAX) return
    const message = oneLine(text)
    const known = this.#found.some(p => p.offset === offset && p.message === message)
    if (!known) this.#found.push({ offset, message })
  }

  #locate(path: DocumentPath, ofKey: boolean): number {
    const document = this.#document
    let node: unknown = document?.contents
    let offset = startOf(node)
    for (const [depth, step] of path.entries()) {
      if (isAlias(node) && document) node = node.resolve(document)
      if (isMap(node)) {
        const pair = node.items.find(item => isScalar(item.key) && String(item.key.value) === String(step))
        if (pair === undefined) break
        if (ofKey && depth === path.length - 1) return startOf(pair.key)
        offset = pair.value === null ? startOf(pair.key) : startOf(pair.value)
        node = pair.value
      } else if (isSeq(node) && typeof step === 'number' && step < node.items.length) {
        node = node.items[step]
        offset = startOf(node)
      } else {
        break
      }
    }
    return offset
  }
}

/** A message may quote any text of the file. This makes one line of bounded length of it. */
function oneLine(text: string): string {
  const cut = text.length > MESSAGE_MAX ? `${text.slice(0, MESSAGE_MAX)}…` : text
  return cut.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, char => {
    return char === '\n' ? '\\n' : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

function startOf(node: unknown): number {
  const range = (node as { range?: [number, number, number] | null } | null | undefined)?.range
  return range?.[0] ?? 0
}
