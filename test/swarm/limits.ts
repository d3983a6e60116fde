/** Bounds that plans and runs share. */
import { MILLISECOND, type Nanos } from '../../lib/time/nanos.js'

/** Bytes of a message at most. */
export const MESSAGE_MAX = 12_000
/** All faults of links happen before this time. */
export const FAULTS_END_NS: Nanos = 200 * MILLISECOND
