/** Whom the listening end takes for ib_write_lat, which waits for a WRITE: one for which it would be wrong loses its connection by it. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { HostRegion } from '../../../lib/index.js'
import type { Keys } from '../../../lib/interop/perftest/messages.js'
import type { TestEnd, TestMemory } from '../../../lib/interop/perftest/queue-pairs.js'
import { UnknownTest } from '../../../lib/interop/perftest/unknown-test.js'

/** What a guest's ib_write_lat and ib_send_lat said of themselves (perftest 4.5 of Debian 12, rdma_rxe of Linux 6.1). */
const WRITE_LAT: Keys = {
  outReads: 1,
  qpn: 0x13,
  psn: 0x8423aa,
  rkey: 0x49e,
  address: 0x563a_c2e5_1000,
  gid: new Uint8Array(16),
}
const SEND_LAT: Keys = { ...WRITE_LAT, qpn: 0x11, psn: 0x33d0ba, rkey: 0, address: 0x557f_05d7_2000 }

/** A silent client that has had its last keys. @param sentBytes what this end has answered its READs with */
function client(keys: Keys, rounds: number, sentBytes = 0) {
  const region = { bytes: new Uint8Array(128) } as HostRegion
  const writes: unknown[] = []
  const end = {
    isClosed: false,
    stats: async () => ({ sentBytes }),
    postSend: (work: unknown) => {
      writes.push(work)
      return false
    },
  }
  const test = new UnknownTest(end as unknown as TestEnd, { region, own: 64 } as TestMemory)
  test.onKeys(rounds, keys)
  return writes
}

t.test('a client is written to only if it waits for that', async t => {
  const others = {
    'the key 0: ib_send_lat, which has not begun': client(SEND_LAT, 4),
    'several READs at a time: ib_read_lat': client({ ...WRITE_LAT, outReads: 128 }, 4),
    'it has been answered READs: ib_read_lat -o 1': client(WRITE_LAT, 4, 100),
    'three rounds: ib_write_bw': client(WRITE_LAT, 3),
  }
  // Begun last, so that whoever is to be written to as well has been by then.
  const waiting = client(WRITE_LAT, 4)
  while (waiting.length === 0) await sleep(10)
  t.match(waiting, [{ rkey: WRITE_LAT.rkey, remoteAddress: WRITE_LAT.address, length: 2 }])
  await sleep(10)
  for (const [what, writes] of Object.entries(others)) t.same(writes, [], what)
})
