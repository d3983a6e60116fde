import type { Test } from 'tap'
import { WeirError } from '../../lib/errors.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'

/** The lines of the error that refuses the file. None if it is correct. */
export function problemsOf(text: string): string[] {
  try {
    parseScenario(text, 'x.yaml')
  } catch (error) {
    if (!(error instanceof WeirError) || error.code !== 'WEIR_BAD_SCENARIO') throw error
    return error.message.split('\n')
  }
  return []
}

/**
 * A file in which each `¦` marks a place at which a problem must be reported (it is removed before parsing),
 * and for each problem what its message must contain.
 */
type Case = [marked: string, ...expected: (string | RegExp)[][]]

export function checkProblems(t: Test, base: string, cases: Case[]): void {
  for (const [marked, ...expected] of cases) {
    const places: string[] = []
    let text = ''
    for (const char of base + marked) {
      const lines = text.split('\n')
      if (char === '¦') places.push(`${lines.length}:${lines.at(-1)!.length + 1}`)
      else text += char
    }
    const found = problemsOf(text)
    t.equal(found.length, expected.length, `${JSON.stringify(marked)}: ${found.join(' | ')}`)
    for (const [i, essentials] of expected.entries()) {
      const line = found[i] ?? ''
      t.ok(line.startsWith(`x.yaml:${places[i]}: `), `${line} is at ${places[i]}`)
      for (const essential of essentials) t.match(line, essential)
    }
  }
}
