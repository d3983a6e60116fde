/** What the cells of the matrix came to, in this run and, with a file, in runs before it. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'

interface Result {
  name: string
  column: string
  /** `ok`, `FAILED`, `HUNG` or `no time`. */
  verdict: string
  seconds: number
}

export class Results {
  readonly #file: string
  readonly #all: Result[] = []

  /** @param file a line of JSON a cell; '': there is none */
  constructor(file: string) {
    this.#file = file
    if (file === '' || !existsSync(file)) return
    for (const line of readFileSync(file, 'utf8').split('\n'))
      if (line !== '') this.#all.push(JSON.parse(line))
  }

  /** A run before this one has seen it pass. */
  has(name: string, column: string): boolean {
    return this.#all.some(
      result => result.name === name && result.column === column && result.verdict === 'ok',
    )
  }

  add(result: Result): void {
    this.#all.push(result)
    if (this.#file !== '' && result.verdict !== 'no time')
      appendFileSync(this.#file, `${JSON.stringify(result)}\n`)
  }

  /** A row a name, and of several runs of one cell how many passed. */
  print(): void {
    const columns = ['guest', 'weir'].flatMap(who =>
      ['clean', '2 % loss'].map(how => `${who} drives, ${how}`),
    )
    console.log(`\n| | ${columns.join(' | ')} |\n|${'---|'.repeat(columns.length + 1)}`)
    for (const name of new Set(this.#all.map(result => result.name)))
      console.log(`| ${name} | ${columns.map(column => this.#cell(name, column)).join(' | ')} |`)
  }

  #cell(name: string, column: string): string {
    const runs = this.#all.filter(result => result.name === name && result.column === column)
    const last = runs.at(-1)
    if (last === undefined) return ''
    const passed = runs.filter(({ verdict }) => verdict === 'ok').length
    const text = last.verdict === 'ok' ? `ok ${last.seconds.toFixed(1)} s` : last.verdict
    return runs.length === 1 ? text : `${text} (${passed} of ${runs.length})`
  }
}
