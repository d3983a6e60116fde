/**
 * A process that runs a benchmark of one checkout, and prints its result as JSON. Arguments: folder of the checkout, which is
 * built; name of the benchmark; its arguments.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [folder, name, ...args] = process.argv.slice(2)
const module = pathToFileURL(join(folder!, 'dist', 'bench', `${name}.js`)).href
const { run } = (await import(module)) as { run: (args: string[]) => unknown }
const result = await run([...args, '--json'])
process.stdout.write(`${JSON.stringify(result)}\n`)
