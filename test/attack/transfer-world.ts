/** Two hosts that move files, with real NICs in virtual time, and an attacker between them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { Test } from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { MILLISECOND } from '../../lib/time/nanos.js'
import type { TransferResult } from '../../lib/transfer/task/transfer.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { makePair, pattern } from '../nic/pair.js'
import { serviceIn } from '../support/transfer-service.js'

const CHUNK = 16_384
export const SIZE = 12 * CHUNK + 100
/** Shorter packets carry messages. */
const DATA_BYTES_LEAST = 512
const never = new AbortController().signal

/** Host `b` has a file that goes to `a`. `poison` says which data packets, counted from 1, are changed on their way. */
export async function transferWorld(t: Test, poison: (n: number) => boolean = () => false) {
  const pair = makePair({ poolSize: 4000 })
  const folder = t.testdir({ in: {}, share: {} })
  const content = pattern(3, SIZE)
  const file = join(folder, 'share', 'file')
  writeFileSync(file, content)
  const time = { now: () => pair.network.now, wake: () => pair.kick() }
  const more = { time, chunkBytes: CHUNK, slots: 8, retryAfterMs: 1 }
  const [a, b] = await Promise.all([pair.a, pair.b].map(verbs => serviceIn(folder, verbs, more)))
  for (const service of [a!, b!]) t.teardown(() => service.close(0))
  let n = 0
  pair.tap.watch = (frame: Frame, _now, fromA) => {
    const carriesData = !fromA && frame.payloadLength >= DATA_BYTES_LEAST

    if (carriesData && poison(++n)) {
      frame.bytes[frame.payload + 9]! ^= 0x40
      icrc.write(frame)
    }
    return true
  }
  const run = async (result: Promise<TransferResult>) => {
    let isOver = false
    const over = result.finally(() => {
      isOver = true
    })
    over.catch(() => {})
    // The disk takes real time.
    for (let round = 0; !isOver; round++) {
      pair.network.runUntil(pair.network.now + MILLISECOND / 10)
      await (round < 2000 ? turn() : sleep(1))
    }
    return await over
  }
  const ways = {
    send: () => b!.send({ path: file, host: pair.a.address.toString(), retries: 1 }, never, () => {}),
    get: () => {
      const where = { path: 'file', directory: join(folder, 'in') }
      return a!.get({ ...where, host: pair.b.address.toString(), retries: 1 }, never, () => {})
    },
  }
  const delivered = join(folder, 'in', 'file')
  return { pair, content, delivered, services: [a!, b!], run: (way: 'send' | 'get') => run(ways[way]()) }
}
