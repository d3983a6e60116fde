/** The fenced code blocks of a document, each with what its marker says. */
import { marked, type Token } from 'marked'
import { type Marker, noMarker, parseMarker } from './marker.js'

const LANGUAGES = ['sh', 'console', 'ts', 'yaml', 'json', 'text'] as const
type Language = (typeof LANGUAGES)[number]

export interface Example {
  document: string
  /** Line of its first line in the document, from 1. */
  line: number
  language: Language
  text: string
  marker: Marker
  /** Commands that the document does not show. */
  hidden: boolean
}

export interface Document {
  name: string
  examples: Example[]
  /** `README.md:12: what is wrong`. */
  problems: string[]
}

/** As marked describes it. */
interface CodeToken {
  raw: string
  lang?: string
  text: string
}

const COMMENT = /^<!--\s*example:\s*([\s\S]*?)-->\s*$/

/** @param name for messages */
export function readDocument(name: string, markdown: string): Document {
  const reader = new Reader(name)
  let line = 1
  for (const token of marked.lexer(markdown)) {
    reader.take(token, line)
    line += token.raw.split('\n').length - 1
  }
  return reader.end()
}

class Reader {
  readonly #name: string
  readonly #examples: Example[] = []
  readonly #problems: string[] = []
  /** The marker that waits for its block. */
  #marker: { marker: Marker; line: number } | null = null

  constructor(name: string) {
    this.#name = name
  }

  take(token: Token, line: number): void {
    if (token.type === 'space') return
    if (token.type === 'html' && /<!--\s*example/.test(token.raw)) this.#takeComment(token.raw.trim(), line)
    else if (token.type === 'code') this.#takeBlock(token as Token & CodeToken, line)
    else {
      this.#dropMarker()
      marked.walkTokens([token], inner => {
        if (inner.type === 'code')
          this.#problem(line, 'a code block stands beside a list or quotation, not within')
      })
    }
  }

  end(): Document {
    this.#dropMarker()
    return { name: this.#name, examples: this.#examples, problems: this.#problems }
  }

  #takeComment(comment: string, line: number): void {
    this.#dropMarker()
    const [, text] = COMMENT.exec(comment) ?? []
    const [, commands] = /^hidden\s*\n([\s\S]*)$/.exec(text ?? '') ?? []
    if (commands !== undefined) {
      const hidden = { language: 'sh', text: commands.trimEnd(), marker: noMarker(), hidden: true } as const
      this.#examples.push({ document: this.#name, line: line + 1, ...hidden })
    } else this.#takeMarker(text, line)
  }

  #takeMarker(text: string | undefined, line: number): void {
    try {
      if (text === undefined) throw new Error('a marker is a comment of its own: <!-- example: … -->')
      this.#marker = { marker: parseMarker(text), line }
    } catch (error) {
      this.#problem(line, (error as Error).message)
    }
  }

  #takeBlock({ raw, lang, text }: CodeToken, line: number): void {
    const marker = this.#marker?.marker ?? noMarker()
    this.#marker = null
    const language = LANGUAGES.find(one => one === lang)
    const isFenced = /^\s*(`{3,}|~{3,})/.test(raw)
    if (!isFenced || language === undefined) {
      const what = isFenced ? `a code block of "${lang ?? ''}"` : 'an indented code block'
      this.#problem(line, `${what}: fence it, and say what it is: ${LANGUAGES.join(', ')}`)
      return
    }
    this.#examples.push({ document: this.#name, line: line + 1, language, text, marker, hidden: false })
  }

  #dropMarker(): void {
    if (this.#marker !== null) this.#problem(this.#marker.line, 'no code block follows this marker')
    this.#marker = null
  }

  #problem(line: number, text: string): void {
    this.#problems.push(`${this.#name}:${line}: ${text}`)
  }
}

/** Where an example is, for messages. */
export function placeOf({ document, line }: Example): string {
  return `${document}:${line}`
}
