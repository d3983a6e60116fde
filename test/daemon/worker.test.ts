/** A daemon's data side on a thread of its own; worker.long.test.ts has it on the same. */
import t from 'tap'
import { testDataSide } from './data-side.js'
import { MB, start } from './hosts.js'

/** Raw sockets are never on a thread of their own. */
const noThread = process.env.WEIR_IO === 'raw'

testDataSide(true)

t.test('the NIC of another thread is out of reach', { skip: noThread && 'raw sockets' }, async t => {
  const { daemon } = await start(t, true)
  t.throws(() => daemon.parts, { code: 'WEIR_BAD_STATE' })
  t.match(daemon.about, { port: 4791, share: '' })
})

t.test('one that polls without end answers as any other', async t => {
  // While it polls, everything else starts more slowly.
  const to = await start(t, true)
  const from = await start(t, true, { busyPoll: true })
  t.match(await from.client.traffic({ name: 'f', host: to.options.address, bytes: MB }), { bytes: MB })
})
