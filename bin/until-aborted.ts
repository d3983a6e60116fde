/**
 * What the work resolves with, or null once the signal is aborted. Throws as the work does before. Nothing of a call stays behind:
 * `Promise.race` with one promise for the end would keep a reaction of each call until then.
 */
export async function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value | null> {
  let end = () => {}
  try {
    return await new Promise<Value | null>((resolve, reject) => {
      end = () => resolve(null)
      work.then(resolve, reject)
      signal.addEventListener('abort', end)
      if (signal.aborted) end()
    })
  } finally {
    signal.removeEventListener('abort', end)
  }
}
