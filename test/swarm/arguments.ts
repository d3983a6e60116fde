/** Arguments of `npm run swarm`. */
import { parseArgs } from 'node:util'
import { WeirError } from '../../lib/errors.js'

export const HELP = `npm run swarm -- [--seeds N] [--from S] [--jobs J]
Builds Weir, and runs random networks in virtual time: test/swarm, HACKING.md.

  --seeds N   how many seeds, 1 to ${2 ** 32}; default 1000
  --from S    the first one, 0 to ${2 ** 52}; default 1
  --jobs J    in so many processes, 1 to 256; default 1
  --help      this text

Exit code 0: every seed has passed. 1: some have failed, and each prints what was found and the command that
replays it. 2: the arguments are wrong.
`

/** What to run. */
export interface SwarmArguments {
  seeds: number
  from: number
  jobs: number
  help: boolean
}

/** Throws WEIR_BAD_ARGUMENT for an unknown option or a wrong value. */
export function parseArguments(args: readonly string[]): SwarmArguments {
  const values = read(args)
  return {
    seeds: whole('seeds', values.seeds ?? '1000', 1, 2 ** 32),
    from: whole('from', values.from ?? '1', 0, 2 ** 52),
    jobs: whole('jobs', values.jobs ?? '1', 1, 256),
    help: values.help === true,
  }
}

/** The command that replays one seed. */
export function replayOf(seed: number): string {
  return `npm run swarm -- --seeds 1 --from ${seed}`
}

function read(args: readonly string[]) {
  try {
    const options = {
      seeds: { type: 'string' },
      from: { type: 'string' },
      jobs: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    } as const
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    // The first sentence has the error. The others explain parseArgs.
    const [what] = (error as Error).message.split('. ')
    throw new WeirError('WEIR_BAD_ARGUMENT', `${what}; the options are --seeds, --from, --jobs and --help`)
  }
}

function whole(name: string, text: string, least: number, most: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw new WeirError(
    'WEIR_BAD_ARGUMENT',
    `--${name} is a whole number from ${least} to ${most}, not "${text}"`,
  )
}
