/** What code outside the packet path needs of the loop that drives the NIC. */
import type { Nanos } from '../../time/nanos.js'

export interface RealTime {
  /** The time on the NIC's scale. */
  now(): Nanos
  /** Makes the loop look at the NIC soon: call it after every command that did not come from one of its handlers. */
  wake(): void
}
