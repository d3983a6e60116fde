import { readFileSync } from 'node:fs'
import { textOf } from '../lib/byte-text.js'

/** Node replaces bytes that are no UTF-8 by this. */
const LOST = '\ufffd'

/**
 * Returns the arguments of the command line. Node decodes them as UTF-8 and loses other bytes, which names of
 * files may contain. On Linux this function reads them from the kernel and returns such bytes as lone
 * surrogates (lib/byte-text.ts). Elsewhere they are lost.
 */
export function rawArguments(argv: readonly string[] = process.argv): string[] {
  if (!argv.some(word => word.includes(LOST))) return [...argv]
  const words = kernelWords()
  // Node's own options precede the program.
  const given = words.slice(words.length - (argv.length - 2))
  const isSame = given.length === argv.length - 2 && given.every((word, i) => word.toString() === argv[i + 2])
  return isSame ? [...argv.slice(0, 2), ...given.map(textOf)] : [...argv]
}

/** A NUL ends each of them. */
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
