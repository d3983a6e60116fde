/** The chunk that the end with the file moves again, because it arrived without its digest: one at a time. */
export class Repeat {
  #wanted = -1
  #stage: 'idle' | 'loading' | 'loaded' | 'posted' = 'idle'
  #chunk = -1

  /** The other end asks for a chunk. Returns false if the one before has not left. */
  ask(chunk: number): boolean {
    if (this.#wanted >= 0 || this.#stage === 'loading' || this.#stage === 'loaded') return false
    this.#wanted = chunk
    return true
  }

  /** The chunk to read next, or -1: none is wanted, or the slot is in use. */
  get toLoad(): number {
    return this.#stage === 'idle' ? this.#wanted : -1
  }

  /** The chunk to hand over next, or -1. */
  get toPost(): number {
    return this.#stage === 'loaded' ? this.#chunk : -1
  }

  onLoading(): void {
    this.#chunk = this.#wanted
    this.#wanted = -1
    this.#stage = 'loading'
  }

  onLoaded(): void {
    this.#stage = 'loaded'
  }

  onPosted(): void {
    this.#stage = 'posted'
  }

  /** The slot may be used again. */
  onFreed(): void {
    this.#stage = 'idle'
  }
}
