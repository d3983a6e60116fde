/** Programs that a test uses beside Node.js: where one is missing the test skips, and its reason names it. */
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Why these programs cannot be used here, or false: for the option `skip` of a test. */
export function without(...tools: string[]): string | false {
  const missing = tools.filter(tool => !isInstalled(tool))
  return missing.length > 0 && `needs ${missing.join(' and ')}, not installed here`
}

function isInstalled(tool: string): boolean {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(folder => folder !== '')
  return folders.some(folder => isProgram(join(folder, tool)))
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
