/** What a session does for the examples of a document. */
import type { Document, Example } from './examples.js'

export interface Step {
  example: Example
  /** Lines for the shell. */
  commands: string
  /** Lines that stand in its output in this order. */
  expects: { text: string; varies: boolean }[]
}

interface Plan {
  steps: Step[]
  /** What is left out on this machine, and why. */
  skipped: { example: Example; why: string }[]
}

/**
 * @param programs the compiled file of an example that completes a program
 * @param lacks why what an example needs is missing here, or null
 */
export function planOf(
  { examples }: Document,
  programs: ReadonlyMap<Example, string>,
  lacks: (need: string) => string | null,
): Plan {
  const plan: Plan = { steps: [], skipped: [] }
  /** The step that output in the document belongs to; null: it was left out. */
  let last: Step | null = null
  for (const example of examples) {
    const { marker, language } = example
    if (marker.notRun !== undefined) {
      last = null
      continue
    }
    if (language === 'text' && marker.output !== undefined) {
      last?.expects.push({ text: example.text, varies: marker.output === 'varies' })
      continue
    }
    const commands = commandsOf(example, programs)
    if (commands === null) continue
    const why = marker.needs.map(lacks).find(one => one !== null)
    last = null
    if (why) plan.skipped.push({ example, why })
    else {
      last = { example, commands, expects: expectsOf(example) }
      plan.steps.push(last)
    }
  }
  return plan
}

/** Lines for the shell, or null where there is nothing to run. */
function commandsOf(example: Example, programs: ReadonlyMap<Example, string>): string | null {
  const { language, marker, text } = example
  if (marker.file !== undefined) return `cat > ${marker.file} << '__END'\n${text}\n__END`
  if (language === 'sh') return text
  if (language === 'console') return commandLines(text).join('\n')
  const program = programs.get(example)
  return program === undefined || marker.typesOnly ? null : `node '${program}'`
}

function expectsOf({ language, marker, text }: Example): Step['expects'] {
  if (language !== 'console') return []
  const output = text.split('\n').filter(line => !/^[$>] /.test(line))
  return [{ text: output.join('\n'), varies: marker.output === 'varies' }]
}

/** `$ command`, and `> ` for the lines that continue it. */
function commandLines(text: string): string[] {
  return text
    .split('\n')
    .filter(line => /^[$>] /.test(line))
    .map(line => line.slice(2))
}

/** Commands that run, shown or not; null for other examples. */
export function shellText(example: Example): string | null {
  const { language, marker, text } = example
  if (marker.notRun !== undefined || marker.file !== undefined) return null
  if (language === 'sh') return text
  return language === 'console' ? commandLines(text).join('\n') : null
}
