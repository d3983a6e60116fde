/**
 * The second half of `npm run build`: gives what is compiled plain names, and writes the program `weir`, with all that it imports, to a
 * few files of `dist/weir`. Finding and loading more than a hundred modules takes longer than most commands do, and a lab starts many
 * processes.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { build, type OnResolveResult, type Plugin } from 'esbuild'
import { packageFile } from '../lib/package-file.js'
import { makeNamesConstant } from './constant-names.js'
import { isEsbuildHere } from './esbuild-program.js'
import { writeManPages } from './man-pages.js'
import { makeNamesPlain, withPlainNames } from './plain-names.js'
import { wholeProgram } from './program.js'
import { removeStale } from './stale-files.js'
import { writeUnbundled } from './unbundled.js'

/** What the program and its engines must have the same of: the class of what they throw, and what is remembered of scenarios that were read. */
const SHARED: Record<string, string> = {
  errors: 'lib/errors.ts',
  'scenario-places': 'lib/scenario/read/places.ts',
}

/** The program. A command loads only what it uses: the rest is in other files. */
const PROGRAM = {
  weir: 'bin/weir.ts',
  'command-line': 'bin/command-line.ts',
  ...SHARED,
}

/**
 * The threads that it starts, which move the packets. Each is one file, because V8 loads what another file exports at each use, and is
 * in the folder of the file that names it as in `new URL('./host-thread.js', import.meta.url)`.
 */
const THREADS = {
  'host-thread': 'lib/daemon/host-thread.ts',
  'verbs-thread': 'lib/host/verbs-thread.ts',
  'veth-worker': 'switch-emu/veth/veth-worker.ts',
}

/**
 * What moves packets on the main thread: one file too, for the same reason, and with it what reads scenario files. The program loads it
 * when it needs it.
 */
const ENGINES: Record<string, string> = {
  'virtual-run': 'switch-emu/virtual/engine.ts',
}

/** Benchmarks of what their own process does: they measure what users run. */
const BENCHMARKS = {
  cc: 'bench/cc.ts',
  micro: 'bench/micro.ts',
  'switch-core': 'bench/switch-core.ts',
}

const root = dirname(packageFile('package.json'))
const folder = join(root, 'dist', 'weir')
/** Where `bench/support/benchmark-module.ts` looks. */
const benchmarks = join(root, 'dist', 'bench', 'bundled')

/** What runs outside of tests. */
const COMPILED = ['lib', 'switch-emu', 'bin', 'bench']

/** Packages keep their names: one of them may ask for a mark. */
const plainNames: Plugin = {
  name: 'plain-names',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      if (path.includes('node_modules')) return undefined
      return { contents: withPlainNames(path, readFileSync(path, 'utf8')), loader: 'ts' }
    })
  },
}

/**
 * Where all is one file, a module that is loaded when it is needed stays outside: inside, esbuild would make every module a function
 * that runs later, and every constant a variable.
 */
function loadedLater(outdir: string): Plugin {
  return {
    name: 'loaded-later',
    setup({ onResolve }) {
      onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) => {
        if (kind !== 'dynamic-import') return undefined
        const compiled = join(root, 'dist', relative(root, resolveDir), path)
        return { path: `./${relative(outdir, compiled)}`, external: true }
      })
    },
  }
}

/** The program asks for an engine by `import()`. */
const enginesApart: Plugin = {
  name: 'engines-apart',
  setup({ onResolve }) {
    onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) =>
      kind === 'dynamic-import' ? outside(ENGINES, resolveDir, path) : undefined,
    )
  },
}

const sharedOutside: Plugin = {
  name: 'shared-outside',
  setup({ onResolve }) {
    onResolve({ filter: /^\./ }, ({ path, resolveDir }) => outside(SHARED, resolveDir, path))
  },
}

/** The file beside the importing one in which a module is, if it is one of `files`. */
function outside(
  files: Record<string, string>,
  resolveDir: string,
  path: string,
): OnResolveResult | undefined {
  const source = relative(root, join(resolveDir, path)).replace(/\.js$/, '.ts')
  const name = Object.keys(files).find(file => files[file] === source)
  return name === undefined ? undefined : { path: `./${name}.js`, external: true }
}

/** CommonJS packages load Node's own modules by `require`, which an ES module does not have. */
const REQUIRE = `import { createRequire as requireFrom } from 'node:module'
const require = requireFrom(import.meta.url)`

async function bundle(): Promise<void> {
  const program = await bundled(folder, PROGRAM, true, [enginesApart])
  const threads = await bundled(folder, THREADS, false, [loadedLater(folder)])
  const engines = await bundled(folder, ENGINES, false, [sharedOutside, loadedLater(folder)])
  writeFileSync(join(folder, 'licenses.txt'), licenses([...new Set([...program, ...threads, ...engines])]))
  await bundled(benchmarks, BENCHMARKS, false, [loadedLater(benchmarks)])
  for (const written of [folder, benchmarks]) makeNamesConstant(written)
}

/** Writes the files of some entries. Returns the paths of all modules in them. */
async function bundled(
  outdir: string,
  entryPoints: Record<string, string>,
  splitting: boolean,
  plugins: Plugin[],
): Promise<string[]> {
  const { metafile } = await build({
    entryPoints,
    absWorkingDir: root,
    outdir,
    bundle: true,
    splitting,
    format: 'esm',
    platform: 'node',
    target: 'node20.15',
    // A field that is declared without a value would begin as undefined, and V8 would keep no number in it as one: docs/measured/v8.md.
    tsconfigRaw: { compilerOptions: { useDefineForClassFields: false } },
    plugins: [plainNames, ...plugins],
    banner: { js: REQUIRE },
    legalComments: 'none',
    sourcemap: 'linked',
    sourcesContent: false,
    metafile: true,
    logLevel: 'warning',
  })
  return Object.keys(metafile.inputs)
}

/** The licenses of the packages in the bundle. Most licenses require a copy in each distribution. */
function licenses(inputs: readonly string[]): string {
  const packages = new Set(
    inputs.flatMap(path => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []),
  )
  return [...packages].sort().map(licenseOf).join('\n')
}

function licenseOf(path: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'))
  const file = readdirSync(join(root, path)).find(file => /^licen[cs]e/i.test(file))
  const text = file === undefined ? '' : `\n${readFileSync(join(root, path, file), 'utf8').trim()}\n`
  return `${name} ${version} (${license})\n${text}`
}

removeStale(root, join(root, 'dist'), [...COMPILED, 'test'])
for (const part of COMPILED) makeNamesPlain(join(root, 'dist', part))
for (const old of [folder, benchmarks]) rmSync(old, { recursive: true, force: true })
if (await isEsbuildHere()) await bundle()
else {
  writeUnbundled(folder)
  process.stdout.write(
    'weir is not bundled, for the program of esbuild is not installed: it works, and starts slowly\n',
  )
}
writeManPages(await wholeProgram())
