/**
 * A step of `npm run build`: the private names of the compiled files become plain ones, `#queue` becomes `$queue`. The compiler has
 * checked by then that nobody else uses them. V8 looks a private name up in the scope of its class before it looks into the object, and
 * calls a private method only after it has looked for the mark of its class: docs/measured/v8.md says what that costs the packet path.
 *
 * Each name keeps its length, so source maps stay true.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { WeirError } from '../lib/errors.js'

/** Most files without private names need not be parsed. */
const MAY_HAVE_SOME = /#[A-Za-z_]/

/** Returns the text of a module, TypeScript or JavaScript, with plain names in place of its private ones. */
export function withPlainNames(file: string, text: string): string {
  if (!MAY_HAVE_SOME.test(text)) return text
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2022)
  let plain = ''
  let end = 0
  const visit = (node: ts.Node): void => {
    if (ts.isPrivateIdentifier(node)) {
      const at = node.getStart(source)
      if (asksForMark(text, node.end)) refuse(file, node.text)
      plain += `${text.slice(end, at)}$`
      end = at + 1
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return plain + text.slice(end)
}

/** `#name in object` asks for a mark that plain names do not leave. */
function asksForMark(text: string, end: number): boolean {
  return /^\s+in\b/.test(text.slice(end, end + 8))
}

function refuse(file: string, name: string): never {
  throw new WeirError('WEIR_UNSUPPORTED', `${file}: \`${name} in\` has no plain name: use instanceof`)
}

/** Gives the compiled files in a folder, and those below it, plain names. */
export function makeNamesPlain(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.js')) continue
    const file = join(entry.parentPath, entry.name)
    const text = readFileSync(file, 'utf8')
    const plain = withPlainNames(file, text)
    if (plain !== text) writeFileSync(file, plain)
  }
}
