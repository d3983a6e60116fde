/** Work on many files: some at once, so that the disk and the threads of Node.js have something to do. */

const AT_ONCE = 16
/** Short files, for which little is done by the threads: the answers of one turn of the event loop are for as many. */
export const SHORT_FILES_AT_ONCE = 64

/** Runs `work` on all items. Throws the first failure, after nothing runs any more. */
export async function forEachAtOnce<T>(
  items: Iterable<T>,
  work: (item: T) => Promise<void>,
  atOnce = AT_ONCE,
): Promise<void> {
  const iterator = items[Symbol.iterator]()
  let failure: { error: unknown } | null = null
  const worker = async () => {
    for (let next = iterator.next(); !next.done && failure === null; next = iterator.next()) {
      try {
        await work(next.value)
      } catch (error) {
        failure ??= { error }
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  if (failure !== null) throw (failure as { error: unknown }).error
}
