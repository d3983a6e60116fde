import { readFileSync } from 'node:fs'
import { packageFile } from '../package-file.js'

/** Version of the installed package. */
export function packageVersion(): string {
  const text = readFileSync(packageFile('package.json'), 'utf8')
  return String((JSON.parse(text) as { version?: string }).version ?? 'unknown')
}
