/** Which of two sessions that bring the same file of one host goes on. */
import t from 'tap'
import { SECOND } from '../../lib/time/nanos.js'
import type { Offer } from '../../lib/transfer/messages.js'
import { type Bringer, SameFile } from '../../lib/transfer/same-file.js'

const offer = { directory: '', name: 'a', size: 1, mtimeMs: 2 } as Offer

class FakeSession implements Bringer {
  progressNs = 0
  isBusy = false
  ended = false
  superseded = false
  end: () => void = () => {}
  readonly outcome = new Promise<void>(resolve => {
    this.end = () => {
      this.ended = true
      resolve()
    }
  })

  supersede(): void {
    this.superseded = true
    setImmediate(() => this.end())
  }
}

t.test('one that is silent for 2 s gives way', async t => {
  const files = new SameFile()
  const [first, second] = [new FakeSession(), new FakeSession()]
  let now = 1 * SECOND
  const clock = () => now
  await files.begin('h', offer, first, clock)
  const begun = files.begin('h', offer, second, clock)
  setTimeout(() => {
    t.notOk(first.superseded, 'not before')
    now = 2 * SECOND
  }, 200)
  await begun
  t.ok(first.superseded && first.ended)
})

t.test('one that goes on, has ended, or waits for this host keeps its place', async t => {
  const acts: [string, (session: FakeSession) => void][] = [
    [
      'goes on',
      session => {
        session.progressNs++
      },
    ],
    [
      'is busy',
      session => {
        session.isBusy = true
      },
    ],
    ['has ended', session => session.end()],
  ]
  for (const [what, act] of acts) {
    const files = new SameFile()
    const [first, second, third] = [new FakeSession(), new FakeSession(), new FakeSession()]
    await files.begin('h', offer, first, () => SECOND)
    const begun = files.begin('h', offer, second, () => SECOND)
    setTimeout(() => act(first), 100)
    await begun
    t.notOk(first.superseded, what)
    if (first.ended) continue
    second.end()
    first.isBusy = false
    await files.begin('h', offer, third, () => first.progressNs + 2 * SECOND)
    t.ok(first.superseded, `${what}: it is still the one to look at`)
  }
})

t.test('another host, place, size or time is another file', async t => {
  const files = new SameFile()
  const first = new FakeSession()
  await files.begin('h', offer, first, () => 9 * SECOND)
  const others: [string, Partial<Offer>][] = [
    ['other', {}],
    ['h', { directory: 'd' }],
    ['h', { name: 'b' }],
    ['h', { size: 3 }],
    ['h', { mtimeMs: 4 }],
  ]
  for (const [peer, more] of others)
    await files.begin(peer, { ...offer, ...more }, new FakeSession(), () => 9 * SECOND)
  t.notOk(first.superseded)
})
