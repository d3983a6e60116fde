/**
 * The watchdog's timelines, computed by hand from the rules of the white paper on lossless networks ("PFC
 * deadlock detection" and "clearance"). Pauses are real ones: quanta of 512 bit times, at 512 Mbit/s 1 us
 * each.
 */
import t, { type Test } from 'tap'
import { NEVER } from '../../lib/time/nanos.js'
import { QueueTimers } from '../../switch-emu/core/feature/queue-timers.js'
import { PfcWatchdog, type WatchdogOptions } from '../../switch-emu/core/pfc/pfc-watchdog.js'
import { PauseAction, PauseState } from '../../switch-emu/core/queueing/pause-state.js'
import { PRIORITIES } from '../../switch-emu/core/queueing/shared-buffer.js'
import { fc, property } from '../support/property.js'
import { drawnSeed, fixedSeed, isReplay } from '../support/seeds.js'

const RATE = 512e6
const US = 1_000
const ALL = (1 << PRIORITIES) - 1

/** A watchdog over the pause states of some ports, and its actions as strings `time port/priority what`. */
function watched(options: Partial<WatchdogOptions> = {}, ports = 2) {
  const pauses = Array.from({ length: ports }, () => new PauseState(RATE, ALL))
  const acts: string[] = []
  const timers = new QueueTimers(ports)
  const dog = new PfcWatchdog(
    ports,
    {
      detectionTimeNs: 100 * US,
      restorationTimeNs: 50 * US,
      action: 'forward',
      priorities: [3],
      ...options,
    },
    {
      pausedSinceNs: (now, port, priority) => pauses[port]!.sinceNs(now, priority),
      pausedUntilNs: (port, priority) => pauses[port]!.firstExpiry(1 << priority),
      setPauseAction(now, port, priority, action) {
        pauses[port]!.setAction(priority, action)
        acts.push(`${now / US} ${port}/${priority} ${nameOf(action)}`)
      },
      setPauseSending: (now, port, priority, on) =>
        acts.push(`${now / US} ${port}/${priority} sending ${on ? 'on' : 'off'}`),
    },
    timers,
  )
  return {
    dog,
    timers,
    acts,
    pauses,
    /** At `us` the peer pauses for `quanta` us; 0 resumes. Everything that is due before happens before. */
    pause(us: number, quanta: number, port = 0, priority = 3) {
      this.until(us)
      pauses[port]!.onPause(us * US, priority, quanta)
      dog.pause(us * US, port, priority)
    },
    until(us: number) {
      while (timers.nextTimeout() <= us * US) timers.onTimeout(timers.nextTimeout(), dog)
    },
    events: () => dog.log.events.map(e => `${e.atNs / US} ${e.port}/${e.priority} ${e.event}`),
  }
}

function nameOf(action: PauseAction): string {
  return Object.entries(PauseAction)
    .find(([, value]) => value === action)![0]
    .toLowerCase()
}

t.test('a pause that lasts the detection time is a deadlock, cleared for the restoration time', async t => {
  const w = watched()
  w.pause(10, 60)
  w.pause(60, 60)
  w.until(109)
  t.same(w.events(), [])
  w.until(1_000)
  t.same(w.events(), ['110 0/3 detected', '160 0/3 restored'])
  t.same(w.acts, ['110 0/3 forward', '160 0/3 obey'])
  t.equal(w.timers.nextTimeout(), NEVER)
})

t.test('one nanosecond less is none', async t => {
  const w = watched({ detectionTimeNs: 100 * US })
  w.pause(0, 99)
  w.pause(99, 0)
  w.until(1_000)
  t.same(w.events(), [])
  const exact = watched({ detectionTimeNs: 100 * US })
  exact.pause(0, 100)
  exact.until(1_000)
  t.same(exact.events(), [], 'a pause that ends when the time is up has not outlasted it')
  const longer = watched({ detectionTimeNs: 100 * US - 1 })
  longer.pause(0, 100)
  longer.until(1_000)
  t.equal(longer.dog.log.events[0]?.atNs, 100 * US - 1)
})

t.test('a gap begins the detection anew, whether by XON or by expiry', async t => {
  for (const end of ['xon', 'expiry']) {
    const w = watched()
    w.pause(0, end === 'xon' ? 500 : 80)
    if (end === 'xon') w.pause(80, 0)
    w.pause(90, 500)
    w.until(189)
    t.same(w.events(), [], end)
    w.until(190)
    t.same(w.events(), ['190 0/3 detected'], end)
  }
})

t.test('congestion that moves is no deadlock, however long: XOFF and XON in turn for a minute', async t => {
  const w = watched()
  for (let us = 0; us < 60e6; us += 1_000) {
    for (let pulse = 0; pulse < 1_000; pulse += 100) {
      w.pause(us + pulse, 65_535)
      w.pause(us + pulse + 97, 0)
    }
  }
  t.same(w.events(), [])
})

t.test('only lossless priorities are watched, each by itself', async t => {
  const w = watched({ priorities: [3, 4] })
  w.pause(0, 1_000, 0, 3)
  w.pause(10, 1_000, 0, 5)
  w.pause(20, 1_000, 1, 4)
  w.until(120)
  t.same(w.events(), ['100 0/3 detected', '120 1/4 detected'])
  t.ok(w.dog.deadlocked(0, 3))
  t.notOk(w.dog.deadlocked(0, 4))
  t.notOk(w.dog.deadlocked(0, 5))
})

t.test('a peer that never stops: each restoration begins a detection', async t => {
  const w = watched({ action: 'drop' })
  for (let us = 0; us <= 500; us += 20) w.pause(us, 50)
  t.same(w.events(), [
    '100 0/3 detected',
    '150 0/3 restored',
    '250 0/3 detected',
    '300 0/3 restored',
    '400 0/3 detected',
    '450 0/3 restored',
  ])
  t.same(w.acts.slice(0, 3), ['100 0/3 drop', '150 0/3 obey', '250 0/3 drop'])
})

t.test('a pause that ended while it was ignored is over', async t => {
  const w = watched()
  w.pause(0, 120)
  w.until(149)
  t.ok(w.dog.deadlocked(0, 3))
  w.pause(200, 99)
  w.until(1_000)
  t.same(w.events(), ['100 0/3 detected', '150 0/3 restored'])
})

t.test('alert reports, changes nothing, and ends with the pause', async t => {
  const xon = watched({ action: 'alert' })
  xon.pause(0, 1_000)
  xon.pause(300, 0)
  t.same(xon.events(), ['100 0/3 detected', '300 0/3 restored'])
  const expiry = watched({ action: 'alert' })
  expiry.pause(0, 150)
  expiry.pause(140, 150)
  expiry.until(1_000)
  t.same(expiry.events(), ['100 0/3 detected', '290 0/3 restored'])
  t.same([...xon.acts, ...expiry.acts], [])
})

t.test('the upper limit turns PFC off until it is turned on again', async t => {
  const w = watched({ limit: { deadlocks: 3, windowNs: 300 * US } })
  for (let us = 0; us <= 1_000; us += 20) w.pause(us, 50)
  t.same(w.events(), [
    '100 0/3 detected',
    '150 0/3 restored',
    '250 0/3 detected',
    '300 0/3 restored',
    '400 0/3 detected',
    '400 0/3 turnedOff',
  ])
  t.same(w.acts.slice(-2), ['400 0/3 forward', '400 0/3 sending off'])
  t.ok(w.dog.turnedOff(0, 3))
  t.equal(w.dog.log.count('turnedOff', 0), 1)
  t.equal(w.timers.nextTimeout(), NEVER)

  w.dog.turnOn(1_010 * US, 0, 3)
  t.same(w.acts.slice(-2), ['1010 0/3 obey', '1010 0/3 sending on'])
  for (let us = 1_020; us <= 1_120; us += 20) w.pause(us, 50)
  t.same(w.events().slice(-2), ['1010 0/3 turnedOn', '1110 0/3 detected'], 'it counts from nothing')
  w.dog.turnOn(1_115 * US, 0, 3)
  t.equal(w.dog.log.count('turnedOn', 0), 1, 'nothing to turn on')
})

t.test('deadlocks further apart than the window do not add up', async t => {
  // They come every 150 us: three span 300 us.
  const w = watched({ limit: { deadlocks: 3, windowNs: 300 * US - 1 } })
  for (let us = 0; us <= 2_000; us += 20) w.pause(us, 50)
  t.equal(w.dog.log.count('detected', 0), 13)
  t.equal(w.dog.log.count('turnedOff', 0), 0)
  const once = watched({ limit: { deadlocks: 1, windowNs: 1 } })
  once.pause(0, 1_000)
  once.until(100)
  t.ok(once.dog.turnedOff(0, 3))
})

t.test('a driver that wakes late counts each deadline at its own time', async t => {
  const w = watched()
  w.pause(0, 120)
  w.timers.onTimeout(1_000 * US, w.dog)
  t.same(w.events(), ['100 0/3 detected', '150 0/3 restored'])
})

t.test('events are kept up to a bound and counted beyond; a new window forgets them', async t => {
  const w = watched()
  for (let us = 0; us <= 150 * 700; us += 40) w.pause(us, 50)
  t.equal(w.dog.log.events.length, 1_000)
  t.equal(w.dog.log.count('detected', 0), 700)
  w.dog.log.reset()
  t.equal(w.dog.log.events.length + w.dog.log.count('detected', 0), 0)
})

/** The same rules, evaluated microsecond by microsecond. */
function reference(pauses: readonly { us: number; quanta: number }[], end: number): string[] {
  const events: string[] = []
  let until = -1 // the pause holds before this
  let since = -1 // of an unbroken pause
  let restored = -1
  let clearUntil = -1
  let next = 0
  const detect = (us: number) => {
    if (clearUntil >= 0 || until <= us || us - Math.max(since, restored) < 100) return
    events.push(`${us} detected`)
    clearUntil = us + 50
  }
  for (let us = 0; us <= end; us++) {
    if (clearUntil === us) {
      events.push(`${us} restored`)
      restored = us
      clearUntil = -1
    }
    detect(us)
    for (; next < pauses.length && pauses[next]!.us === us; next++) {
      const { quanta } = pauses[next]!
      // A pause that is renewed at its very end has no gap.
      if (until < us) since = us
      until = quanta === 0 ? -1 : us + quanta
      detect(us)
    }
  }
  return events
}

/** Compares the watchdog with the reference for pauses drawn by a seed. Returns how many events there were. */
function comparePauses(t: Test, seed: number): number {
  // Mostly renewals in time. Resumes are rare, because otherwise no pause would last.
  const step = fc.record({ gap: fc.integer({ min: 1, max: 60 }), quanta: fc.integer({ min: 0, max: 90 }) })
  let events = 0
  const holds = (steps: { gap: number; quanta: number }[]) => {
    const w = watched()
    let us = 0
    const pauses = steps.map(({ gap, quanta }) => {
      us += gap
      return { us, quanta: quanta < 5 ? 0 : quanta + 20 }
    })
    for (const { us, quanta } of pauses) w.pause(us, quanta)
    w.until(us + 500)
    const got = w.dog.log.events.map(e => `${e.atNs / US} ${e.event}`)
    const expected = reference(pauses, us + 500)
    events += expected.length
    if (got.join() !== expected.join()) throw new Error(`${got.join()} instead of ${expected.join()}`)
  }
  property(t, 'events', fc.array(step, { minLength: 1, maxLength: 60 }), holds, 200, seed)
  return events
}

t.test('random pauses: the same as the rules evaluated microsecond by microsecond', async t => {
  const events = comparePauses(t, fixedSeed(t, 1))
  if (!isReplay) t.ok(events > 100, `${events} events`)
  comparePauses(t, drawnSeed(t))
})

t.test('options out of range are refused', async t => {
  const code = { code: 'WEIR_BAD_ARGUMENT' }
  t.throws(() => watched({ detectionTimeNs: 0 }), code)
  t.throws(() => watched({ restorationTimeNs: 0 }), code)
  t.throws(() => watched({ priorities: [8] }), code)
  t.throws(() => watched({ limit: { deadlocks: 0, windowNs: 1 } }), code)
  t.throws(() => watched({ limit: { deadlocks: 501, windowNs: 1 } }), code)
  t.throws(() => watched({ limit: { deadlocks: 1, windowNs: 0 } }), code)
})
