/** Which session is ended when there is no place, with sessions that have only what the rules need. */
import t from 'tap'
import { SECOND } from '../../lib/time/nanos.js'
import type { TransferFailure } from '../../lib/transfer/protocol/failure.js'
import { type Holder, Places } from '../../lib/transfer/session/places.js'

class FakeSession implements Holder {
  readonly remoteName: string
  hasAsked = false
  holdsRing = false
  progressNs: number
  isBusy = false
  said = ''
  atOnce = false
  readonly outcome: Promise<void>
  end: () => void = () => {}

  constructor(remoteName: string, progressNs = 0) {
    this.remoteName = remoteName
    this.progressNs = progressNs
    this.outcome = new Promise(resolve => {
      this.end = resolve
    })
  }

  giveWay(why: TransferFailure, atOnce: boolean): void {
    this.said = why.reason
    this.atOnce = atOnce
    this.holdsRing = false
    this.end()
  }
}

function world(limit: number) {
  const sessions: FakeSession[] = []
  const rings = {
    limit,
    get inUse() {
      return sessions.filter(({ holdsRing }) => holdsRing).length
    },
  }
  const places = new Places(rings)
  const enter = (peer: string, progressNs = 0) => {
    const session = new FakeSession(peer, progressNs)
    sessions.push(session)
    places.enter(session)
    return session
  }
  /** One that has offered a file and got memory. */
  const runs = async (peer: string, progressNs = 0) => {
    const session = enter(peer, progressNs)
    session.hasAsked = true
    await places.makeRoom(progressNs, session)
    session.holdsRing = true
    return session
  }
  return { places, enter, runs }
}

t.test('connections that ask for nothing: the oldest of the host with the most goes', async t => {
  const { places, enter } = world(4)
  const honest = enter('h')
  const idle = Array.from({ length: 8 }, (_, n) => enter('x', n + 1))
  t.same(
    idle.map(({ said }) => said),
    ['BUSY', '', '', '', '', '', '', ''],
  )
  t.equal(honest.said, '')
  t.equal(places.size, 8)
  honest.end()
  await honest.outcome
  await null
  t.equal(places.size, 7)
})

t.test('when all have asked, the newcomer goes', async t => {
  const { enter } = world(1)
  for (const session of [enter('x'), enter('x')]) session.hasAsked = true
  t.equal(enter('h').said, 'BUSY')
})

t.test('a host gets all places but one; a silent transfer of its own gives way', async t => {
  const { runs } = world(4)
  const first = await runs('x', 1 * SECOND)
  for (let n = 0; n < 2; n++) await runs('x', 9 * SECOND)
  await t.rejects(runs('x', 10 * SECOND), { reason: 'BUSY', message: /3 files of this host/ })
  t.equal(first.said, '')
  await runs('x', 12 * SECOND)
  t.equal(first.said, 'BUSY')
  t.ok(first.atOnce, 'its memory is needed')
  t.equal((await runs('h', 12 * SECOND)).said, '')
})

t.test('when all memory is taken, the most silent transfer of the greediest host gives way', async t => {
  const { runs } = world(4)
  const alone = await runs('h', 0)
  const silent = await runs('x', 2 * SECOND)
  await runs('x', 9 * SECOND)
  await runs('x', 9 * SECOND)
  const late = await runs('new', 13 * SECOND)
  t.same([alone.said, silent.said, late.said], ['', 'BUSY', ''])
})

t.test('who is not silent keeps its place', async t => {
  const { places, runs } = world(2)
  const both = [await runs('x', 5 * SECOND), await runs('y', 5 * SECOND)]
  const late = new FakeSession('z')
  places.enter(late)
  await places.makeRoom(6 * SECOND, late)
  t.same(
    both.map(({ said }) => said),
    ['', ''],
    'the pool then says that there is none',
  )
})

t.test('who waits for this host is not silent', async t => {
  const { places, runs } = world(4)
  const busy = await runs('x', 0)
  busy.isBusy = true
  const silent = await runs('x', 1 * SECOND)
  await runs('x', 15 * SECOND)
  await runs('x', 15 * SECOND)
  t.same([busy.said, silent.said], ['', 'BUSY'], 'of the same host')
  await runs('y', 15 * SECOND)
  const late = new FakeSession('z')
  places.enter(late)
  await places.makeRoom(16 * SECOND, late)
  t.equal(busy.said, '', 'of any host')
})

t.test('ended sessions are not waited for, however many there are', async t => {
  const sessions = Array.from({ length: 8 }, () => new FakeSession('x'))
  const { places } = world(1)
  for (const session of sessions) {
    session.end = () => {}
    places.enter(session)
  }
  t.same(
    sessions.map(({ atOnce }) => atOnce),
    [false, false, true, true, true, true, false, false],
  )
})
