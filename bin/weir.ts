#!/usr/bin/env node
import { heedClosedPipes } from './closed-pipe.js'
import { report } from './failure.js'
import { makeProgram } from './program.js'
import { rawArguments } from './raw-arguments.js'

const argv = rawArguments()
heedClosedPipes(report)
try {
  const program = await makeProgram(argv.slice(2))
  await program.parseAsync(argv)
} catch (error) {
  report(error)
}
