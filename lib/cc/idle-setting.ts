import { WeirError } from '../errors.js'

/** Why a setting has no effect beside others, and what to set so that it has one. */
export interface Idle {
  while: string
  mend: string
}

/** A setting that may have no effect beside others. */
interface MayBeIdle<Settings> {
  name: string
  idle?: (settings: Settings) => Idle | null
}

/** Throws WEIR_BAD_ARGUMENT for a setting that is given and has no effect. @param topic first word of the message */
export function checkIdleSettings<Settings>(
  topic: string,
  given: readonly MayBeIdle<Settings>[],
  settings: Settings,
): void {
  for (const { name, idle } of given) {
    const why = idle?.(settings) ?? null
    if (why === null) continue
    const text = `${topic}: ${name} has no effect while ${why.while}: leave it out, or set ${why.mend}`
    throw new WeirError('WEIR_BAD_ARGUMENT', text)
  }
}
