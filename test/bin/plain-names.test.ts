/** Private names as the build makes them plain: the classes do what they did, and no name meets another one. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { withPlainNames } from '../../bin/plain-names.js'
import { packageFile } from '../../lib/package-file.js'

const root = dirname(packageFile('package.json'))

t.test('every private name, and nothing else that looks like one', async t => {
  const text = `#!/usr/bin/env node
// a comment with this.#a
class A { #a = 1; static #b = '#a'; get #c() { return this?.#a }
  #d() { return \`\${this.#c} this.#a\` + /#a/.source } e(other) { return other.#d() } static f() { return A.#b } }
`
  const plain = `#!/usr/bin/env node
// a comment with this.#a
class A { $a = 1; static $b = '#a'; get $c() { return this?.$a }
  $d() { return \`\${this.$c} this.#a\` + /#a/.source } e(other) { return other.$d() } static f() { return A.$b } }
`
  t.equal(withPlainNames('a.js', text), plain)
  t.equal(withPlainNames('a.js', plain), plain, 'what is plain stays as it is')
})

t.test('TypeScript, whose types may stand anywhere', async t => {
  const text = `class A<T> { readonly #a: Map<string, T> = new Map<string, T>()\n  b(): T { return this.#a.get('#x')! } }\n`
  t.equal(withPlainNames('a.ts', text), text.replaceAll(/#a/g, '$a'))
})

t.test('a question for the mark of a class is refused', async t => {
  const text = 'class A { #a = 1; static is(x) { return #a in x } }'
  t.throws(() => withPlainNames('a.js', text), { code: 'WEIR_UNSUPPORTED' })
})

t.test('no plain name is taken by another name, or by a class that is extended', async t => {
  const files = ['lib', 'switch-emu', 'bin', 'bench'].flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.ts') && !name.endsWith('.d.ts'))
      .map(name => join(root, folder, name)),
  )
  const classes = new Map<string, { base: string | null; names: Set<string> }>()
  const taken: string[] = []
  for (const file of files) {
    const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.ES2022)
    const own = new Set<string>()
    const others = new Set<string>()
    const visit = (node: ts.Node): void => {
      if (ts.isIdentifier(node) && node.text.startsWith('$')) others.add(node.text.slice(1))
      if (ts.isPrivateIdentifier(node)) own.add(node.text.slice(1))
      if (ts.isClassDeclaration(node)) classes.set(node.name!.text, privates(node))
      ts.forEachChild(node, visit)
    }
    visit(source)
    for (const name of own) if (others.has(name)) taken.push(`${file}: ${name}`)
  }
  t.ok(classes.size > 100, 'the classes were found')
  t.same(taken, [])
  const clashes: string[] = []
  for (const [name, { base, names }] of classes) {
    for (let above = base; above !== null; above = classes.get(above)?.base ?? null) {
      for (const one of classes.get(above)?.names ?? [])
        if (names.has(one)) clashes.push(`${name} and ${above}: ${one}`)
    }
  }
  t.same(clashes, [])
})

function privates(node: ts.ClassDeclaration): { base: string | null; names: Set<string> } {
  const parent = node.heritageClauses?.find(clause => clause.token === ts.SyntaxKind.ExtendsKeyword)?.types[0]
  const base = parent !== undefined && ts.isIdentifier(parent.expression) ? parent.expression.text : null
  const names = node.members.flatMap(({ name }) =>
    name !== undefined && ts.isPrivateIdentifier(name) ? [name.text] : [],
  )
  return { base, names: new Set(names) }
}
