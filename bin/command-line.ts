/** The command line for who runs several in one process, as tests do. */
export { report } from './failure.js'
export { makeProgram } from './program.js'
