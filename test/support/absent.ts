/**
 * Removes optional packages from one process and its threads, as `npm ci --omit=optional` or a machine
 * without a compiler does: a file for node's `--require`, in which loading one of them fails as if it were
 * not installed.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const OPTIONAL_PACKAGES = ['koffi', 'raw-socket', '@node-rs/crc32', '@node-rs/xxhash'] as const
export type OptionalPackage = (typeof OPTIONAL_PACKAGES)[number]

/**
 * Writes that file into the folder, and returns the environment of processes without these packages.
 * @param code of the error: ERR_DLOPEN_FAILED is that of a package that was compiled for another version of Node.js
 */
export function without(
  packages: readonly OptionalPackage[],
  folder: string,
  code = 'MODULE_NOT_FOUND',
): Record<string, string> {
  const file = join(folder, `${code}-${packages.length}-${packages[0]!.replace('/', '-')}.cjs`)
  writeFileSync(
    file,
    `const Module = require('node:module')
const load = Module._load
Module._load = (name, ...rest) => {
  if (!${JSON.stringify(packages)}.includes(name)) return load(name, ...rest)
  throw Object.assign(new Error('Cannot find module ' + name), { code: '${code}' })
}`,
  )
  return { NODE_OPTIONS: `--require ${file}` }
}
