/** A guest and Weir do every operation of reliable connections: the guest drives and connects, or Weir does. */
import type { Case, Conditions } from './case.js'
import { type Family, GUEST, type Guests, HERE, type Ran } from './guests.js'

const LIMIT_SECONDS = 60
const LOSSY_SECONDS = 150
const OPS = 'wrsiIaR'
/** Bytes and number of each operation: several packets of either path MTU. */
const SIZE = 8000
const TIMES = 64

function operations(
  guests: Guests,
  io: string,
  family: Family,
  driver: 'guest' | 'weir',
  lossy: boolean,
): () => Promise<Ran> {
  const seconds = lossy ? LOSSY_SECONDS : LIMIT_SECONDS
  const work = [`ops=${OPS}`, `n=${TIMES}`, `size=${SIZE}`, 'depth=16']
  const memory = ['nrecv=128', `cycle=${TIMES}`]
  return async () => {
    if (driver === 'guest') {
      const target = guests.weir(
        seconds,
        'weir-peer.js',
        HERE[family],
        'listen',
        'target',
        '7480',
        `io=${io}`,
        ...memory,
      )
      await target.listening
      const driven = await guests.inGuest(
        `timeout ${seconds} /share/peer c d ${HERE[family]} 7480 ${work.join(' ')} mib=8`,
        seconds,
      )
      const served = await target.ended
      return {
        ok: driven.ok && served.ok && driven.text.includes('all exact'),
        text: driven.text + served.text,
      }
    }
    const any = family === 4 ? '0.0.0.0' : '::'
    await guests.inGuest(
      `timeout ${seconds} /share/peer s t ${any} 7480 ${memory.join(' ')} >/tmp/t.log 2>&1 &`,
    )
    await guests.inGuest('for i in $(seq 40); do grep -q listening /tmp/t.log && break; sleep 0.2; done')
    const to = `to=${GUEST[family]}`
    const drives = guests.weir(
      seconds,
      'weir-peer.js',
      HERE[family],
      'connect',
      'driver',
      '7480',
      to,
      `io=${io}`,
      ...work,
    )
    const driven = await drives.ended
    const served = await guests.inGuest('sleep 1; cat /tmp/t.log; kill $(pidof peer) 2>/dev/null; true')
    return {
      ok: driven.ok && served.text.includes(`${2 * TIMES} messages exact`),
      text: driven.text + served.text,
    }
  }
}

/** The cells of every io that reaches a guest. */
export function operationCases(guests: Guests, { pathMtu, lossy }: Conditions): Case[] {
  const all: Case[] = []
  for (const io of ['batch', 'packet', 'raw']) {
    for (const family of [4, 6] as const) {
      if (io === 'raw' && family === 6) continue
      for (const driver of ['guest', 'weir'] as const)
        all.push({
          name: `${io}, IPv${family}, MTU ${pathMtu}`,
          column: `${driver} drives, ${lossy ? '2 % loss' : 'clean'}`,
          seconds: 2 * (lossy ? LOSSY_SECONDS : LIMIT_SECONDS),
          run: operations(guests, io, family, driver, lossy),
        })
    }
  }
  return all
}
