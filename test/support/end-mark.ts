/** What `CommandLines` and its process tell each other. */

/** Stands in the output of the process where a command line has ended. */
export const END = '\0the command has ended\0'

/** A command line to run. */
export interface CommandLine {
  words: readonly string[]
  cwd: string
}

/** What became of it. */
export interface CommandEnd {
  code: number
  stdout: string
  stderr: string
}
