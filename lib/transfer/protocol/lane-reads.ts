/** The READs of one connection: chunks one after another, each in pieces. A chunk belongs to one connection. */
export class LaneReads {
  /** The server's window for this connection; 0: it has stated none. */
  windowBytes = 0
  /** Bytes that were asked for and have not come. */
  inFlightBytes = 0
  /** Chunks that have not come whole, oldest first. */
  chunks: number[] = []
  /** Bytes asked for of the newest of them; 0: all. */
  askedBytes = 0
  /** Bytes that have come of the oldest. */
  arrivedBytes = 0

  /** The connection has ended. Returns the chunks that others have to ask for. */
  giveUp(): number[] {
    const { chunks } = this
    this.chunks = []
    this.inFlightBytes = 0
    this.askedBytes = 0
    this.arrivedBytes = 0
    return chunks
  }
}
