/**
 * A process that runs a benchmark of one checkout, and prints its result as JSON. Arguments: folder of the checkout, which is
 * built; name of the benchmark; its arguments.
 */
import { benchmarkModule } from './benchmark-module.js'

const [folder, name, ...args] = process.argv.slice(2)
const { run } = (await import(benchmarkModule(folder!, name!))) as { run: (args: string[]) => unknown }
const result = await run([...args, '--json'])
process.stdout.write(`${JSON.stringify(result)}\n`)
