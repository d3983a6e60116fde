/** Whole transfers by two NICs over real sockets, on a link that loses, doubles and swaps packets. */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemRandom } from '../../lib/daemon/random.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { DgramPort } from '../../lib/io/dgram-port.js'
import { FaultPort } from '../../lib/io/fault-port.js'
import { HostLoop } from '../../lib/io/host-loop.js'
import { createLog } from '../../lib/log.js'
import { Nic } from '../../lib/nic/nic.js'
import { Random } from '../../lib/sim/random.js'
import { MILLISECOND } from '../../lib/time/nanos.js'
import { Inbox } from '../../lib/transfer/inbox.js'
import { TransferService } from '../../lib/transfer/service.js'
import { Share } from '../../lib/transfer/share.js'
import { HostAddress } from '../../lib/wire/address.js'
import { randomPort } from '../io/helpers.js'
import { loopbackAddress } from '../support/daemon-process.js'

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
t.comment(`SEED=${seed}`)

async function host(t: Test, folder: string, rocePort: number, seed: number) {
  const address = loopbackAddress()
  for (const name of ['in', 'share', 'to']) mkdirSync(join(folder, name), { recursive: true })
  const pool = new FramePool(2048)
  const random = new Random(seed)
  const faults = { loss: 0.02, duplication: 0.01, reorder: 0.02 }
  const port = new FaultPort(
    await DgramPort.open({ pool, address, rocePort, intPort: rocePort + 1 }),
    pool,
    faults,
    () => random.next(),
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
  const [store, share] = [await Inbox.at(join(folder, 'in')), await Share.at(join(folder, 'share'))]
  const log = createLog('silent', 'test')
  const transfers = new TransferService({ verbs: nic, time: loop, store, share, log, chunkBytes: 65_536 })
  loop.start()
  transfers.start()
  const close = async () => {
    await transfers.close(1000)
    loop.close()
    await port.close()
  }
  t.teardown(close)
  return { address, folder, pool, nic, transfers, close }
}

t.test('files arrive whole, and everything is given back', async t => {
  const folder = t.testdir({})
  const port = randomPort()
  const one = await host(t, join(folder, 'one'), port, seed)
  const two = await host(t, join(folder, 'two'), port, seed + 1)
  const content = Buffer.alloc(700_001)
  for (let i = 0; i < content.length; i++) content[i] = (i * 131 + (i >> 8) * 17) & 0xff
  const path = join(one.folder, 'share/a')
  writeFileSync(path, content)
  const never = new AbortController().signal
  const [sent, fetched] = await Promise.all([
    one.transfers.send({ path, host: two.address }, never, () => {}),
    two.transfers.get(
      { path: 'a', host: one.address, directory: join(two.folder, 'to'), digest: 'sha256' },
      never,
      () => {},
    ),
  ])
  t.same(readFileSync(join(two.folder, 'in', sent.path)), content, 'sent')
  t.same(readFileSync(fetched.path), content, 'fetched')
  t.equal(Buffer.from(fetched.digest).toString('hex'), createHash('sha256').update(content).digest('hex'))
  t.comment(`repeated ${sent.retransmittedBytes} bytes, timeouts ${sent.timeouts} and ${fetched.timeouts}`)
  t.ok(sent.retransmittedBytes > 0, 'the link has lost packets')
  t.ok(fetched.retransmittedBytes > 0, 'on the way of the fetched file too')
  t.same([...readdirSync(join(two.folder, 'in')), ...readdirSync(join(two.folder, 'to'))], ['a', 'a'])
  await Promise.all([one.close(), two.close()])
  for (const { nic, pool, transfers } of [one, two]) {
    t.equal(transfers.count, 0)
    t.equal(nic.memory.size, 0, 'no memory is left registered')
    t.equal(pool.inUse, 0, 'every frame has been given back')
  }
})
