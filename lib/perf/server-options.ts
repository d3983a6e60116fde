import type { Verbs } from '../nic/types.js'
import type { HostLimits } from './settings.js'

/** What a host lends to those who measure it. */
export interface PerfServerOptions {
  verbs: Verbs
  limits: HostLimits
  /** Source of unsigned 32-bit whole numbers that a peer cannot guess. */
  random: () => number
  /** User and system time of this process, microseconds. */
  cpuUs: () => number
  /** False: the memory has no storage, as in virtual time. */
  storage: boolean
  /** Called when the number of sessions that poll without sleeping becomes other than 0, or 0. */
  onBusyPoll?: (busy: boolean) => void
}
