/**
 * A step of `npm run build`: names at the top of the bundle that are assigned once become constants again. esbuild declares all of
 * them by `var`. V8 takes the value of a constant when it compiles a function, and loads a variable each time: docs/measured/v8.md says what
 * that costs the packet path.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { WeirError } from '../lib/errors.js'

/** esbuild writes the path of each module before its text. */
const MODULE = /^\/\/ (\S+)$/gm

/** Returns the text of a file that esbuild has written, with constants. */
export function withConstantNames(file: string, text: string): string {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2022)
  const assigned = assignedNames(source)
  const modules = [...text.matchAll(MODULE)].map(({ 1: path, index }) => ({ path: path!, index }))
  let constant = ''
  let end = 0
  let module = -1
  for (const statement of source.statements) {
    const at = statement.getStart(source)
    while (module + 1 < modules.length && modules[module + 1]!.index < at) module++
    if (!mayBeConstant(modules[module]?.path) || !declaresOnce(statement, assigned)) continue
    refuseOwnValue(file, statement)
    constant += `${text.slice(end, at)}const`
    end = at + 'var'.length
  }
  return constant + text.slice(end)
}

/**
 * Modules of packages may import each other in circles, so that one reads a name of another before its line. Weir's do not
 * (test/style/layers.test.ts).
 */
function mayBeConstant(module: string | undefined): boolean {
  return module !== undefined && !module.includes('node_modules/')
}

function declaresOnce(statement: ts.Statement, assigned: ReadonlySet<string>): boolean {
  if (!ts.isVariableStatement(statement)) return false
  const { declarations, flags } = statement.declarationList
  if ((flags & ts.NodeFlags.BlockScoped) !== 0) return false
  return declarations.every(
    ({ name, initializer }) => ts.isIdentifier(name) && initializer !== undefined && !assigned.has(name.text),
  )
}

/**
 * `var K = (function (K) {…})(K || {})`, as compilers write a namespace or an enum, asks for the name before it has a value. A constant
 * would throw when the program starts, so the build does.
 */
function refuseOwnValue(file: string, statement: ts.Statement): void {
  for (const { name, initializer } of (statement as ts.VariableStatement).declarationList.declarations) {
    if (!asksFor(initializer!, (name as ts.Identifier).text)) continue
    const { text } = name as ts.Identifier
    throw new WeirError(
      'WEIR_UNSUPPORTED',
      `${file}: the value of \`${text}\` asks for \`${text}\`: no constant can be made of it`,
    )
  }
}

/** True if an expression reads a name when it is evaluated: what is in functions is read later. */
function asksFor(node: ts.Node, name: string): boolean {
  if (ts.isFunctionLike(node) || ts.isClassLike(node)) return false
  if (ts.isPropertyAccessExpression(node)) return asksFor(node.expression, name)
  if (ts.isPropertyAssignment(node)) return asksFor(node.initializer, name)
  if (ts.isIdentifier(node)) return node.text === name
  return ts.forEachChild(node, child => asksFor(child, name) || undefined) ?? false
}

/** Names that something is assigned to after their declaration, in whatever scope. */
function assignedNames(source: ts.SourceFile): Set<string> {
  const names = new Set<string>()
  const addAll = (target: ts.Node): void => {
    if (ts.isIdentifier(target)) names.add(target.text)
    // The names of a pattern, and too many of a member's: those stay variables.
    else ts.forEachChild(target, addAll)
  }
  const visit = (node: ts.Node): void => {
    if (ts.isBinaryExpression(node) && isAssignment(node.operatorToken.kind)) {
      if (!ts.isPropertyAccessExpression(node.left) && !ts.isElementAccessExpression(node.left))
        addAll(node.left)
    } else if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) {
      if (STEPS.has(node.operator)) addAll(node.operand)
    } else if (ts.isForInStatement(node) || ts.isForOfStatement(node)) {
      if (!ts.isVariableDeclarationList(node.initializer)) addAll(node.initializer)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return names
}

const STEPS: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.PlusPlusToken,
  ts.SyntaxKind.MinusMinusToken,
])

function isAssignment(operator: ts.SyntaxKind): boolean {
  return operator >= ts.SyntaxKind.FirstAssignment && operator <= ts.SyntaxKind.LastAssignment
}

/** Does that in each file of a folder. */
export function makeNamesConstant(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (!name.endsWith('.js')) continue
    const file = join(folder, name)
    writeFileSync(file, withConstantNames(file, readFileSync(file, 'utf8')))
  }
}
