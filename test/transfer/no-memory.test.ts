/** A host whose adapter has no free region: a transfer is refused with the reason, and the next one works. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { Access } from '../../lib/qp/memory/memory.js'
import { transferWorld } from '../attack/transfer-world.js'

for (const [where, way] of [
  ['the end that it comes to', 'send'],
  ['the end that serves it', 'get'],
] as const) {
  t.test(`no region for messages at ${where}`, async t => {
    const w = await transferWorld(t)
    const { memory } = way === 'send' ? w.pair.a : w.pair.b
    const taken = []
    while (memory.size < memory.limit) taken.push(memory.register(null, 1, Access.REMOTE_READ))
    await t.rejects(w.run(way), {
      code: 'WEIR_CONNECTION_LOST',
      message: /gave the connection up: memory table: all \d+ regions are registered/,
    })
    for (const region of taken) memory.deregister(region)
    await w.run(way)
    t.ok(readFileSync(w.delivered).equals(w.content))
  })
}

t.test('no region for the ring at the end that asks: its memory is there for the next', async t => {
  const w = await transferWorld(t)
  for (const [way, { memory }] of [
    ['send', w.pair.b],
    ['get', w.pair.a],
  ] as const) {
    const taken = []
    while (memory.size < memory.limit) taken.push(memory.register(null, 1, Access.REMOTE_READ))
    for (let n = 0; n < 10; n++) await t.rejects(w.run(way), { message: /all \d+ regions are registered/ })
    for (const region of taken) memory.deregister(region)
    await w.run(way).catch(error => t.equal(error.code, 'WEIR_FILE_EXISTS'))
  }
  t.ok(readFileSync(w.delivered).equals(w.content))
})
