/** The protocol between `CommandLines` and its process. */

/** Marks the end of a command line in the output of the process. */
export const END = '\0the command has ended\0'

/** A command line to run. */
export interface CommandLine {
  words: readonly string[]
  cwd: string
}

/** The result of a command line. */
export interface CommandEnd {
  code: number
  stdout: string
  stderr: string
}
