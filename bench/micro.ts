/**
 * Measures the nanoseconds of everything that a packet needs: codecs, checksums, containers, queue pairs and
 * the whole NIC without a port.
 */
import { parseArgs } from 'node:util'
import { containerOperations } from './micro/container-operations.js'
import { Joined } from './micro/joined-nics.js'
import {
  type Operation,
  type OperationTime,
  printTimes,
  ROUND_MS,
  timeOperations,
} from './micro/time-operations.js'
import { wireOperations } from './micro/wire-operations.js'
import { stealSince, stealTicks } from './steal.js'
import type { NamedFigure } from './support/against.js'

interface MicroResult {
  benchmark: 'micro'
  stealShare: number | null
  operations: OperationTime[]
}

/** Arguments: a part of the names of the operations to measure. */
export function run(args: string[], roundMs = ROUND_MS): MicroResult {
  const { values, positionals: wanted } = parseArgs({
    args,
    allowPositionals: true,
    options: { json: { type: 'boolean' } },
  })
  const all = [...wireOperations(), ...containerOperations(), ...protocolOperations()]
  const chosen = all.filter(({ name }) => wanted.every(part => name.includes(part)))
  const steal = stealTicks()
  const operations = timeOperations(chosen, roundMs)
  const result: MicroResult = { benchmark: 'micro', stealShare: stealSince(steal), operations }
  if (!values.json) process.stdout.write(printTimes(operations))
  return result
}

/** For `--against`: ns of each operation. */
export function comparedFigures({ operations }: MicroResult): NamedFigure[] {
  return operations.map(({ name, ns }) => ({ name: `${name}, ns`, value: ns }))
}

/** Both ends together: two NICs that are joined in memory. */
function protocolOperations(): Operation[] {
  const write = new Joined({ op: 'WRITE', size: 1 << 20 })
  const read = new Joined({ op: 'READ', size: 1 << 20 })
  const send = new Joined({ op: 'SEND', size: 64 })
  return [
    {
      name: 'two NICs, WRITE of 1 MiB: a packet of 4 KiB, sent and received',
      run: count => write.packets(count),
    },
    {
      name: 'two NICs, READ of 1 MiB: a packet of 4 KiB, sent and received',
      run: count => read.packets(count),
    },
    { name: 'two NICs, SEND of 64 bytes: a message', run: count => send.deliver(count) },
  ]
}
