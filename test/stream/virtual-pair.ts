/** Two hosts in virtual time, with a stream between them. */
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { ConnectionHandler } from '../../lib/nic/types.js'
import { NicStream, type StreamNic, wordsOf } from '../../lib/stream/nic-stream.js'
import type { StreamShape } from '../../lib/stream/stream-machine.js'
import type { WeirStream } from '../../lib/stream/weir-stream.js'
import { readWords } from '../../lib/stream/words.js'
import { makePair, type Pair, type PairOptions, PORT } from '../nic/pair.js'

/** Events of the network between two turns of the event loop, in which programs run. */
const EVENTS_A_TURN = 20

interface StreamPair {
  pair: Pair
  /** The end that connected, and the other one. */
  a: WeirStream
  b: WeirStream
  aEnd: NicStream
  bEnd: NicStream
  /** Moves time on until the promise settles. Throws if nothing happens any more. */
  during<T>(promise: Promise<T>): Promise<T>
  /** So much virtual time passes, in which programs run. */
  elapse(ns: number): Promise<void>
}

export const SHAPE: StreamShape = { segmentBytes: 4096, receives: 8, sends: 8 }

export async function streamPair(
  options: PairOptions & { aShape?: StreamShape; bShape?: StreamShape } = {},
): Promise<StreamPair> {
  const { aShape = SHAPE, bShape = SHAPE, ...rest } = options
  const pair = makePair({ ...rest, a: { queueDepth: 128, ...rest.a }, b: { queueDepth: 128, ...rest.b } })
  const nicOf = (verbs: StreamNic['verbs']): StreamNic => ({
    verbs,
    now: () => pair.network.now,
    wake: () => {},
  })
  const during = async <T>(promise: Promise<T>): Promise<T> => {
    let settled = false
    const set = () => {
      settled = true
    }
    promise.then(set, set)
    for (let idle = 0; !settled; ) {
      await turn()
      pair.kick()
      let events = 0
      while (events < EVENTS_A_TURN && pair.network.step()) events++
      idle = events === 0 ? idle + 1 : 0
      // The network may wait for a file.
      if (idle > 0) await sleep(1)
      if (idle > 10_000) throw new Error('nothing happens any more')
    }
    return await promise
  }
  const elapse = async (ns: number) => {
    const end = pair.network.now + ns
    for (let step = 1; step <= 100; step++) {
      await turn()
      pair.kick()
      pair.network.runUntil(end - ns + (ns * step) / 100)
    }
  }
  let aEnd!: NicStream
  let bEnd!: NicStream
  const b = new Promise<WeirStream>((resolve, reject) => {
    pair.b.listen(PORT, {
      accept: (_now, { privateData }): ConnectionHandler => {
        const accepted = readWords(privateData)
        bEnd = new NicStream(nicOf(pair.b), {
          shape: bShape,
          accepted,
          onOpen: resolve,
          onEnded: e => reject(e),
        })
        return bEnd
      },
    })
  })
  const a = new Promise<WeirStream>((resolve, reject) => {
    aEnd = new NicStream(nicOf(pair.a), { shape: aShape, onOpen: resolve, onEnded: error => reject(error) })
    pair.a.connect(pair.network.now, pair.b.address, PORT, aEnd, { privateData: wordsOf(aShape) })
  })
  const [aStream, bStream] = await during(Promise.all([a, b]))
  return { pair, a: aStream, b: bStream, aEnd, bEnd, during, elapse }
}
