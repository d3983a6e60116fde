import type { Ran } from './guests.js'

/** What the network of the guests is like. */
export interface Conditions {
  pathMtu: 1024 | 4096
  /** 2 % of the packets are lost, both ways. */
  lossy: boolean
}

/** A cell of the table. */
export interface Case {
  name: string
  column: string
  /** It is ended after so many. */
  seconds: number
  run: () => Promise<Ran>
}
