import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { protoFolder } from '../proto/proto.js'

/** Version of the installed package. */
export function packageVersion(): string {
  const text = readFileSync(join(dirname(protoFolder()), 'package.json'), 'utf8')
  return String((JSON.parse(text) as { version?: string }).version ?? 'unknown')
}
