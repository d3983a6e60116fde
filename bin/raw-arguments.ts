import { readFileSync } from 'node:fs'
import { textOf } from '../lib/byte-text.js'

/** What stands where Node has found bytes that are no UTF-8. */
const LOST = '\ufffd'

/**
 * The command line. Node makes UTF-8 of it and loses bytes that are none, as names of files may hold. On Linux the kernel still has them: they
 * come as lone surrogates then (lib/byte-text.ts). Elsewhere they are lost.
 */
export function rawArguments(argv: readonly string[] = process.argv): string[] {
  if (!argv.some(word => word.includes(LOST))) return [...argv]
  const words = kernelWords()
  // Node's own options stand before the program.
  const given = words.slice(words.length - (argv.length - 2))
  const isSame = given.length === argv.length - 2 && given.every((word, i) => word.toString() === argv[i + 2])
  return isSame ? [...argv.slice(0, 2), ...given.map(textOf)] : [...argv]
}

/** Each ends with a NUL. */
function kernelWords(): Buffer[] {
  let bytes: Buffer
  try {
    bytes = readFileSync('/proc/self/cmdline')
  } catch {
    return []
  }
  const words: Buffer[] = []
  for (let at = 0, end = bytes.indexOf(0); end >= 0; at = end + 1, end = bytes.indexOf(0, at)) {
    words.push(bytes.subarray(at, end))
  }
  return words
}
