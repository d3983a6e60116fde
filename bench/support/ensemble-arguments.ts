import { parseArgs } from 'node:util'
import { WeirError } from '../../lib/errors.js'
import { wholeNumber } from './whole-number.js'

/** A subject of the measurement, and a network. */
const NAMES_MAX = 2
const STARTS_MAX = 1000
const SEED_MAX = 2 ** 32 - 1

/**
 * Parses arguments of benchmarks over an ensemble of jittered starts: up to NAMES_MAX names, `--starts N` (1
 * to STARTS_MAX, default 10) and `--seed N` of their jitter (default 1). `--json` is for the caller. Throws
 * for anything else.
 */
export function ensembleArguments(args: string[]): {
  positionals: string[]
  starts: number
  seed: number
  json: boolean
} {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      starts: { type: 'string', default: '10' },
      seed: { type: 'string', default: '1' },
    },
  })
  const [beyond] = positionals.slice(NAMES_MAX)
  if (beyond !== undefined) {
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `"${beyond}" is one name too many: quote names that have spaces, and give one of each at most`,
    )
  }
  const starts = wholeNumber('--starts', values.starts, 1, STARTS_MAX)
  const seed = wholeNumber('--seed', values.seed, 0, SEED_MAX)
  return { positionals, starts, seed, json: values.json }
}
