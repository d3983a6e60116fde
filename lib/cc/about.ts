/** What users read of a controller that its needs and its options do not say: `weir cc`, docs/controllers. */

/** Whether a controller is of use somewhere, and how it does there, in a phrase. */
export interface Verdict {
  works: boolean
  how: string
}

/** Phrases without a capital and a full stop. */
export interface About {
  /** What it is. */
  is: string
  /** Paper, RFC or draft; null: it is of Weir alone. */
  source: string | null
  /** What switches have to do for it, beginning with a verb; empty: nothing. */
  switches: string
  /** What its own host has to do, beyond what every host does; empty: nothing. */
  host: string
  /** What it does about losses and timeouts. */
  loss: string
  /** On networks whose switches do nothing for it. */
  plainNetworks: Verdict
  /** Towards RoCEv2 peers other than Weir. */
  foreignPeers: Verdict
}
