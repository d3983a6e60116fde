/** What programs import says what it is: the API reference is made of these words. */
import { join } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { repositoryRoot } from '../support/fixtures.js'

/** The `exports` of package.json. */
const ENTRIES = ['lib/index', 'switch-emu/index', 'lib/capture/index']

/** Exported names without a comment, as `FILE: NAME`. */
function undescribed(files: readonly string[]): { names: string[]; count: number } {
  const program = ts.createProgram(files, {
    noLib: true,
    types: [],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
  })
  const checker = program.getTypeChecker()
  const names: string[] = []
  let count = 0
  for (const file of files) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(file)!)!
    for (const exported of checker.getExportsOfModule(module)) {
      const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0
      const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported
      count++
      if (symbol.getDocumentationComment(checker).length === 0) names.push(`${file}: ${exported.name}`)
    }
  }
  return { names, count }
}

t.test('every exported name has a docstring', async t => {
  const { names, count } = undescribed(ENTRIES.map(entry => join(repositoryRoot, 'dist', `${entry}.d.ts`)))
  t.ok(count > 80, `${count} names`)
  t.same(names, [])
})

t.test('one without is found', async t => {
  const folder = t.testdir({ 'a.ts': '/** Is said. */\nexport const a = 1\nexport interface B {}\n' })
  t.same(undescribed([join(folder, 'a.ts')]), { names: [`${join(folder, 'a.ts')}: B`], count: 2 })
})
