/** Everything that is checked about the examples of a document, without running them. */
import { type Document, type Example, placeOf } from './examples.js'
import { scenarioFault } from './scenarios.js'
import { shellText } from './steps.js'

/** Folders of the reader's machine that do not belong to the session. */
const FOREIGN = /(?:^|[\s=:"'(])(\/(?:tmp|srv|home|root|var|data|mnt|opt|etc|usr)\b\S*)/m
/** Outside the clone this would run a foreign package. */
const FETCHED = /npx +(?:--?\S+ +)*weir\b/

/** What is wrong, each with its place. */
export function problemsOf(document: Document, markdown: string): string[] {
  const fetched = markdown
    .split('\n')
    .flatMap((line, i) =>
      FETCHED.test(line) ? [`${document.name}:${i + 1}: npx may fetch another package: write weir …`] : [],
    )
  return [...document.problems, ...fetched, ...document.examples.flatMap(problemOf)]
}

function problemOf(example: Example): string[] {
  const { language, text, marker } = example
  const place = placeOf(example)
  if (marker.notRun !== undefined) return []
  if (language === 'yaml') return [scenarioFault(example)].filter(fault => fault !== null)
  if (language === 'json') return parses(text) ? [] : [`${place}: this is not JSON; what is cut (…) is text`]
  const [, path] = FOREIGN.exec(shellText(example) ?? '') ?? []
  if (path !== undefined)
    return [`${place}: ${path} is outside of the folder of the examples; use a relative path or ~`]
  return []
}

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
