import type { Verbs } from '../nic/types.js'
import type { HostLimits } from './settings.js'

/** What a host provides to those who measure it. */
export interface PerfServerOptions {
  verbs: Verbs
  limits: HostLimits
  /** Returns unsigned 32-bit integers that a peer cannot guess. */
  random: () => number
  /** User and system time of this process, microseconds. */
  cpuUs: () => number
  /** False: the memory has no storage, as in virtual time. */
  storage: boolean
  /** Called when the number of sessions that poll without sleeping becomes positive, or 0. */
  onBusyPoll?: (busy: boolean) => void
}
