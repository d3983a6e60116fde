/**
 * Runs a session's asynchronous steps (reading, writing, syncing) one at a time, as long as its state machine
 * names one. `kick` may be called from anywhere, at any time.
 */
export class StepRunner {
  readonly #next: () => (() => Promise<void>) | null
  readonly #onError: (error: unknown) => void
  readonly #onIdle: () => void
  #running = false

  /**
   * @param next the step that is due now, or null
   * @param onError a step has failed
   * @param onIdle no step runs any more
   */
  constructor(
    next: () => (() => Promise<void>) | null,
    onError: (error: unknown) => void,
    onIdle: () => void,
  ) {
    this.#next = next
    this.#onError = onError
    this.#onIdle = onIdle
  }

  get running(): boolean {
    return this.#running
  }

  kick(): void {
    if (this.#running || !this.#next()) return
    this.#running = true
    void this.#run()
  }

  async #run(): Promise<void> {
    for (let step = this.#next(); step; step = this.#next()) {
      try {
        await step()
      } catch (error) {
        this.#onError(error)
      }
    }
    this.#running = false
    this.#onIdle()
  }
}
