/** Runs the examples of documents, a test for each document. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { checkVeth } from '../../switch-emu/lab/veth-support.js'
import { problemsOf } from './check-document.js'
import { type Document, type Example, placeOf, readDocument } from './examples.js'
import { compilePrograms, linkPackage, type Programs } from './programs.js'
import { isInstalled, noSessions, runSession } from './session.js'
import { planOf } from './steps.js'

interface Source {
  name: string
  markdown: string
}

/** Checks and runs all examples. Returns those that their documents say are not run. */
export async function runDocuments(t: Test, sources: readonly Source[]): Promise<Example[]> {
  // Short: the paths of Unix sockets are bounded.
  const folder = mkdtempSync(join(tmpdir(), 'weir-docs-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const documents = sources.map(({ name, markdown }) => readDocument(name, markdown))
  for (const [i, document] of documents.entries()) {
    const problems = problemsOf(document, sources[i]!.markdown)
    t.same(problems, [], `${document.name}: ${document.examples.length} examples`)
  }
  linkPackage(folder)
  const programs = compilePrograms(
    documents.flatMap(({ examples }) => examples),
    folder,
  )
  t.same(programs.problems, [], 'the types of all programs')
  const skip = noSessions()
  for (const [i, document] of documents.entries()) {
    const place = join(folder, String(i))
    mkdirSync(place)
    await t.test(document.name, { skip }, t => runDocument(t, document, programs, place))
  }
  return documents.flatMap(({ examples }) => examples.filter(({ marker }) => marker.notRun !== undefined))
}

async function runDocument(t: Test, document: Document, programs: Programs, folder: string): Promise<void> {
  const { steps, skipped } = planOf(document, programs.files, lacks)
  for (const { example, why } of skipped) t.pass(placeOf(example), { skip: `needs ${why}` })
  for (const { example, fault, output } of await runSession(steps, folder)) {
    if (fault === null) t.pass(placeOf(example))
    else t.fail(`${placeOf(example)}: ${fault}`, { commands: example.text, output, at: null, stack: '' })
  }
}

const known = new Map<string, string | null>()

/** Why what an example needs is missing here, or null. */
function lacks(need: string): string | null {
  if (!known.has(need)) known.set(need, need === 'veth' ? noVeth() : isInstalled(need) ? null : need)
  return known.get(need)!
}

function noVeth(): string | null {
  try {
    checkVeth()
    return null
  } catch (error) {
    return (error as Error).message
  }
}
