/** The programs of documents: type-checked all at once against the package's declarations, and compiled. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import ts from 'typescript'
import { repositoryRoot } from '../support/fixtures.js'
import { type Example, placeOf } from './examples.js'

export interface Programs {
  /** What is wrong with their types, by place in the document. */
  problems: string[]
  /** The compiled file of each program, by the example with which it is complete. */
  files: Map<Example, string>
}

/** Links the package under its own name, as in a program that has installed it. */
export function linkPackage(folder: string, packageFolder: string = repositoryRoot): void {
  mkdirSync(join(folder, 'node_modules', '@types'), { recursive: true })
  symlinkSync(packageFolder, join(folder, 'node_modules', 'weir-roce'))
  symlinkSync(join(repositoryRoot, 'node_modules/@types/node'), join(folder, 'node_modules/@types/node'))
}

const COMPILER_OPTIONS: ts.CompilerOptions = {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts'],
  types: ['node'],
  strict: true,
  skipLibCheck: true,
}

/** @param folder one in which `linkPackage` has put the package */
export function compilePrograms(examples: readonly Example[], folder: string): Programs {
  const programs = joined(
    examples.filter(({ language, marker }) => language === 'ts' && marker.notRun === undefined),
  )
  const sources = new Map<string, Example>()
  const files = new Map<Example, string>()
  for (const parts of programs) {
    const [first] = parts as [Example]
    const name = `${first.document.replace(/\W+/g, '-')}-${first.line}`
    const source = join(folder, `${name}.mts`)
    writeFileSync(source, `${parts.map(({ text }) => text).join('\n')}\nexport {}\n`)
    sources.set(`${name}.mts`, first)
    files.set(parts.at(-1)!, join(folder, `${name}.mjs`))
  }
  const paths = [...sources.keys()].map(name => join(folder, name))
  const options = { ...COMPILER_OPTIONS, typeRoots: [join(folder, 'node_modules/@types')] }
  const program = ts.createProgram(paths, options, hostFor(options))
  const wrong =
    paths.length === 0 ? [] : [...ts.getPreEmitDiagnostics(program), ...program.emit().diagnostics]
  const problems = wrong.map(one => {
    const text = ts.flattenDiagnosticMessageText(one.messageText, ' ')
    const example = one.file && sources.get(basename(one.file.fileName))
    if (!example) return text
    const line = one.file!.getLineAndCharacterOfPosition(one.start ?? 0).line + 1
    return `${placeOf(example)}, line ${line} of the program: ${text}`
  })
  return { problems, files }
}

const declarations = new Map<string, ts.SourceFile | undefined>()

/** Reads declarations, most of all there is to read, once a process. */
function hostFor(options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(options)
  const read = host.getSourceFile
  host.getSourceFile = (name, ...rest) => {
    if (!name.endsWith('.d.ts')) return read(name, ...rest)
    if (!declarations.has(name)) declarations.set(name, read(name, ...rest))
    return declarations.get(name)
  }
  return host
}

/** Programs that go over several blocks. */
function joined(examples: readonly Example[]): Example[][] {
  const programs: Example[][] = []
  for (const example of examples) {
    const before = programs.at(-1)
    if (example.marker.continues && before?.[0]?.document === example.document) before.push(example)
    else programs.push([example])
  }
  return programs
}
