/** The command line for programs that run several commands in one process, as tests do. */
export { report } from './failure.js'
export { makeProgram } from './program.js'
