/** Transfers as objects: events, a loop over progress, cancel. */
import { once } from 'node:events'
import t from 'tap'
import {
  ClientTransfer,
  type Progress,
  type TransferHooks,
  type TransferReply,
} from '../../lib/client/daemon-client.js'
import { WeirError } from '../../lib/errors.js'

function begun() {
  let hooks!: TransferHooks
  let end!: { resolve(reply: TransferReply): void; reject(error: Error): void }
  const transfer = new ClientTransfer(given => {
    hooks = given
    return new Promise((resolve, reject) => {
      end = { resolve, reject }
      given.signal.addEventListener('abort', () => reject(new WeirError('WEIR_CANCELLED', 'cancelled')))
    })
  })
  const say = (more: Partial<Progress>) =>
    hooks.onProgress({ state: 'streaming', retry: 0, ...more } as Progress)
  return { transfer, say, end }
}

const reply = { path: 'there' } as TransferReply

t.test('events, in their order', async t => {
  const { transfer, say, end } = begun()
  const seen: string[] = []
  transfer.on('progress', ({ bytes }) => seen.push(`progress ${bytes}`))
  transfer.on('retry', ({ retry }) => seen.push(`retry ${retry}`))
  transfer.on('done', ({ path }) => seen.push(`done ${path}`))
  say({ bytes: 1 })
  for (const bytes of [2, 3]) say({ bytes, state: 'waiting', retry: 1 })
  say({ bytes: 4, state: 'connecting', retry: 1 })
  say({ bytes: 5, state: 'waiting', retry: 2 })
  say({ bytes: 6 })
  say({ bytes: 7, state: 'waiting', retry: 1 })
  end.resolve(reply)
  t.equal(await transfer.result, reply)
  t.same(seen, [
    'progress 1',
    'progress 2',
    'retry 1',
    'progress 3',
    'progress 4',
    'progress 5',
    'retry 2',
    'progress 6',
    'progress 7',
    'retry 1',
    'done there',
  ])
  transfer.cancel()
  t.equal(transfer.progress?.bytes, 7)
})

t.test('a loop has the latest progress, and ends with the transfer', async t => {
  const { transfer, say, end } = begun()
  const seen: number[] = []
  const loop = (async () => {
    for await (const { bytes } of transfer) {
      seen.push(bytes)
      if (bytes === 3) end.resolve(reply)
    }
  })()
  say({ bytes: 1 })
  say({ bytes: 2 })
  await new Promise(setImmediate)
  t.same(seen, [2], 'what was overtaken is left out')
  say({ bytes: 3 })
  await loop
  t.same(seen, [2, 3])
})

t.test('cancel, and what fails without anybody who listens', async t => {
  const { transfer, say } = begun()
  const failed = once(transfer, 'failed')
  const loop = (async () => {
    for await (const _ of transfer) transfer.cancel()
  })()
  say({ bytes: 1 })
  await t.rejects(loop, { code: 'WEIR_CANCELLED' })
  await t.rejects(transfer.result, { code: 'WEIR_CANCELLED' })
  t.match(await failed, [{ code: 'WEIR_CANCELLED' }])
  const other = begun()
  other.end.reject(new WeirError('WEIR_NO_FILE', 'no file'))
  await t.rejects(other.transfer.result, { code: 'WEIR_NO_FILE' })
})
