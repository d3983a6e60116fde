/** The package as `npm pack` makes it, and as an installation has it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import { repositoryRoot } from '../support/fixtures.js'

export interface Packed {
  tarball: string
  /** Paths in the package. */
  files: string[]
}

interface Manifest {
  name: string
  bin: Record<string, string>
  dependencies: Record<string, string>
  optionalDependencies: Record<string, string>
}

export function readManifest(folder: string): Manifest & Record<string, unknown> {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

/** Why the package cannot be packed and unpacked here, or false. */
export function cannotPack(): string | false {
  for (const tool of ['npm', 'tar']) {
    if (spawnSync(tool, ['--version'], { stdio: 'ignore' }).status !== 0) return `needs ${tool}`
  }
  return false
}

export function scratch(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-package-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Packs what is built. */
export function pack(folder: string): Packed {
  const args = ['pack', '--json', '--ignore-scripts', '--offline', '--pack-destination', folder]
  const said = JSON.parse(execFileSync('npm', args, { cwd: repositoryRoot, encoding: 'utf8' })) as {
    filename: string
    files: { path: string }[]
  }[]
  const [{ filename, files }] = said as [(typeof said)[number]]
  return { tarball: join(folder, filename), files: files.map(({ path }) => path) }
}

/**
 * Makes a project as `npm install TARBALL` does, without a network: the unpacked package, its dependencies
 * and nothing else, its commands in `.bin`.
 */
export function install({ tarball }: Packed, project: string): string {
  const modules = join(project, 'node_modules')
  mkdirSync(join(modules, '.bin'), { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', modules])
  const [unpacked] = readdirSync(modules).filter(name => name === 'package')
  const { name, bin, dependencies, optionalDependencies } = readManifest(join(modules, unpacked!))
  execFileSync('mv', [join(modules, unpacked!), join(modules, name)])
  for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) link(needed, modules)
  for (const [command, file] of Object.entries(bin)) {
    chmodSync(join(modules, name, file), 0o755)
    symlinkSync(join('..', name, file), join(modules, '.bin', command))
  }
  return join(modules, name)
}

/** Puts a package of the repository into a project; an optional one that is not installed is left out. */
export function link(name: string, modules: string): void {
  mkdirSync(dirname(join(modules, name)), { recursive: true })
  symlinkSync(join(repositoryRoot, 'node_modules', name), join(modules, name))
}
