/** This checkout, and another one that it is compared with (`--against DIR`). */
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { WeirError } from '../../lib/errors.js'
import { packageFile } from '../../lib/package-file.js'

export interface Checkout {
  name: 'here' | 'other'
  folder: string
  /** The program `weir` of it. */
  weir: string
}

/** Returns this checkout, and the other one if there is one. Throws WEIR_BAD_ARGUMENT unless that is built. */
export function checkouts(against?: string): Checkout[] {
  const here = checkout('here', dirname(packageFile('package.json')))
  if (against === undefined) return [here]
  const other = checkout('other', resolve(against))
  if (!existsSync(other.weir)) {
    const text = `--against: ${other.weir} is missing: name the folder of a checkout, and run npm ci there`
    throw new WeirError('WEIR_BAD_ARGUMENT', text)
  }
  return [here, other]
}

/** What a candidate is called that another checkout has too. */
export function nameIn({ name }: Checkout, candidate: string): string {
  return name === 'here' ? candidate : `${candidate} (other)`
}

function checkout(name: Checkout['name'], folder: string): Checkout {
  return { name, folder, weir: join(folder, 'dist', 'weir', 'weir.js') }
}
