/**
 * Measures the nanoseconds of everything that a packet needs: codecs, checksums, containers, queue pairs and
 * the whole NIC without a port.
 */
import { parseArgs } from 'node:util'
import { type Beside, operationsIn, printBeside, timeBeside } from './micro/beside.js'
import { chosenOperations } from './micro/operations.js'
import { type OperationTime, printTimes, ROUND_MS, timeOperations } from './micro/time-operations.js'
import { stealSince, stealTicks } from './steal.js'
import { checkouts } from './support/checkouts.js'
import { wholeNumber } from './support/whole-number.js'

export { chosenOperations } from './micro/operations.js'

interface MicroResult {
  benchmark: 'micro'
  stealShare: number | null
  operations: OperationTime[] | Beside[]
}

const SLICES = '60'

/** Arguments: a part of the names of the operations to measure; `--against DIR`, `--slices 60`. */
export async function run(args: string[], roundMs = ROUND_MS): Promise<MicroResult> {
  const { values, positionals: wanted } = parseArgs({
    args,
    allowPositionals: true,
    options: { json: { type: 'boolean' }, against: { type: 'string' }, slices: { type: 'string' } },
  })
  const slices = wholeNumber('--slices', values.slices ?? SLICES)
  const [, other] = checkouts(values.against)
  const here = chosenOperations(wanted)
  const steal = stealTicks()
  if (other === undefined) {
    const operations = timeOperations(here, roundMs)
    if (!values.json) process.stdout.write(printTimes(operations))
    return { benchmark: 'micro', stealShare: stealSince(steal), operations }
  }
  const operations = timeBeside(here, await operationsIn(other.folder, wanted), slices)
  if (!values.json) process.stdout.write(printBeside(operations, other.folder, slices))
  return { benchmark: 'micro', stealShare: stealSince(steal), operations }
}
