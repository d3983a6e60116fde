/**
 * A host that moves files: a NIC over real sockets, in this process, whose packets meet the faults of a bad
 * link.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { HostLoop } from '../../lib/io/loop/host-loop.js'
import { DgramPort } from '../../lib/io/ports/dgram-port.js'
import { Nic } from '../../lib/nic/nic.js'
import { systemRandom } from '../../lib/open-nic/random.js'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND } from '../../lib/time/nanos.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { FaultPort } from '../io/fault-port.js'
import { loopbackAddress } from '../support/loopback.js'
import { newServiceIn } from '../support/transfer-service.js'

/** What happens to each packet that leaves, 0 to 1. */
interface Faults {
  loss: number
  duplication: number
  reorder: number
}

/** One that listens on a loopback address, with `in`, `share` and `to` in `folder`. Closed when the test ends, if not before. */
export async function realHost(
  t: Test,
  folder: string,
  rocePort: number,
  seed: number,
  faults: Faults,
  more: { allowsDeletion?: boolean } = {},
) {
  const address = loopbackAddress()
  for (const name of ['in', 'share', 'to']) mkdirSync(join(folder, name), { recursive: true })
  const pool = new FramePool(2048)
  const random = new Random(seed)
  /** Nothing leaves this host while its link is down. */
  const link = { isDown: false }
  const port = new FaultPort(
    await DgramPort.open({ pool, address, rocePort, intPort: rocePort + 1 }),
    pool,
    { ...faults, loss: faults.loss || Number.MIN_VALUE },
    () => (link.isDown ? 0 : random.next()),
  )
  const nic = new Nic({
    address: HostAddress.parse(address),
    pool,
    random: systemRandom(),
    lineRateBps: 1e9,
    ackTimeoutNs: 100 * MILLISECOND,
    sourcePorts: port.sourcePorts ?? undefined,
    receiveBudgetBytes: port.receiveBudgetBytes,
    slackNs: MILLISECOND,
  })
  const loop = new HostLoop({ node: nic, port })
  const settings = { time: loop, chunkBytes: 65_536, slots: 40, retryAfterMs: 100, ...more }
  const transfers = await newServiceIn(folder, nic, settings)
  loop.start()
  transfers.start()
  const close = async () => {
    await transfers.close(1000)
    loop.close()
    await port.close()
  }
  t.teardown(close)
  return { address, folder, pool, nic, loop, link, transfers, close }
}
