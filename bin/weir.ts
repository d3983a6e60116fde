#!/usr/bin/env node
import { heedClosedPipes } from './closed-pipe.js'
import { report } from './failure.js'
import { makeProgram } from './program.js'

const program = await makeProgram(process.argv.slice(2))
heedClosedPipes(report)
try {
  await program.parseAsync()
} catch (error) {
  report(error)
}
