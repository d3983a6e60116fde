import { transform } from 'esbuild'

/**
 * Returns false where the program of esbuild is missing. `npm ci --omit=optional` omits it, like everything
 * that is specific to a platform. esbuild throws then, either at once or by its promise.
 */
export async function isEsbuildHere(): Promise<boolean> {
  try {
    await transform('')
    return true
  } catch {
    return false
  }
}
