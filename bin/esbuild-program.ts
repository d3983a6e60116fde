import { transform } from 'esbuild'

/**
 * False where the program of esbuild is missing: `npm ci --omit=optional` leaves it out, as all that is made for one kind of
 * machine. esbuild throws then, at once or by its promise.
 */
export async function isEsbuildHere(): Promise<boolean> {
  try {
    await transform('')
    return true
  } catch {
    return false
  }
}
