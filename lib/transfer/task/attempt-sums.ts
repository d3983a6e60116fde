/** What all attempts of a transfer together have repeated: a user sees one transfer, and not its attempts. */
import type { Moving } from '../mover/mover.js'
import { MendedChunks } from '../protocol/mended.js'
import type { SenderFigures } from '../protocol/messages.js'
import type { ActiveSession, TransferOutcome } from '../session/active-session.js'

export class AttemptSums {
  #retransmittedBytes = 0
  #spuriousRetransmissions = 0
  #timeouts = 0
  #pathMoves = 0
  #damagedChunks = 0
  #movedBytes = 0
  #maxPathQueueBytes = 0
  readonly #mended = new MendedChunks()

  /** Chunks that did not have their digest, in all attempts that are over. */
  get damagedChunks(): number {
    return this.#damagedChunks
  }

  /** Bytes of the file that these attempts have moved. */
  get movedBytes(): number {
    return this.#movedBytes
  }

  /** Another attempt follows this one. */
  add({ figures, maxPathQueueBytes, damagedChunks, movedBytes }: ActiveSession): void {
    this.#retransmittedBytes += figures?.retransmittedBytes ?? 0
    this.#spuriousRetransmissions += figures?.spuriousRetransmissions ?? 0
    this.#timeouts += figures?.timeouts ?? 0
    this.#pathMoves += figures?.pathMoves ?? 0
    this.#damagedChunks += damagedChunks
    this.#movedBytes += movedBytes
    this.#maxPathQueueBytes = Math.max(this.#maxPathQueueBytes, maxPathQueueBytes)
  }

  /** The attempt that runs moves so many bytes that an earlier one had moved. */
  addRepeatedBytes(bytes: number): void {
    this.#retransmittedBytes += bytes
  }

  /** An attempt is over: notes the chunks of an earlier part that it has moved again. */
  noteMended({ mover }: ActiveSession): void {
    this.#mended.add(mover.machine.chunks.mended)
  }

  /** Figures of the attempt that runs, with those of all before it. */
  withFigures(figures: SenderFigures): SenderFigures {
    return {
      ...figures,
      retransmittedBytes: this.#retransmittedBytes + figures.retransmittedBytes,
      spuriousRetransmissions: this.#spuriousRetransmissions + figures.spuriousRetransmissions,
      timeouts: this.#timeouts + figures.timeouts,
      pathMoves: this.#pathMoves + figures.pathMoves,
    }
  }

  /**
   * Outcome of the last attempt, with what all before it have done.
   * @param resumedBytes where the first of them began
   * @param moving what of a tree it was to move: those after it move what is left of that
   */
  withOutcome(outcome: TransferOutcome, resumedBytes: number, moving?: Moving): TransferOutcome {
    return {
      ...outcome,
      ...(outcome.tree && moving ? { tree: { ...outcome.tree, ...moving } } : {}),
      resumedBytes: resumedBytes - this.#mended.bytesBefore(resumedBytes),
      retransmittedBytes: this.#retransmittedBytes + outcome.retransmittedBytes,
      spuriousRetransmissions: this.#spuriousRetransmissions + outcome.spuriousRetransmissions,
      timeouts: this.#timeouts + outcome.timeouts,
      pathMoves: this.#pathMoves + outcome.pathMoves,
      damagedChunks: this.#damagedChunks + outcome.damagedChunks,
      maxPathQueueBytes: Math.max(this.#maxPathQueueBytes, outcome.maxPathQueueBytes),
    }
  }
}
