import { execFile } from 'node:child_process'

/** A program that ends by itself. */
export const CommandRun = {
  of(program: string, args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    return new Promise(resolve => {
      const child = execFile(program, args, (_error, stdout, stderr) => {
        resolve({ code: child.exitCode ?? -1, stdout, stderr })
      })
    })
  },
}
