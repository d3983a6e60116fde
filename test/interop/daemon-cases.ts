/**
 * A daemon that answers perftest, which nobody tells what its clients run: the guest's programs one after the other, and what `weir status` says of
 * them.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Case, Conditions } from './case.js'
import { type Guests, HERE, type Ran } from './guests.js'

const PORT = 18_515
const LIMIT_SECONDS = 300
const CLIENT_SECONDS = 60
/** Messages: the guests are emulated. */
const TIMES = 100

/** Half a second each, and the time that the command takes. */
const COUNT_TRIES = 40

const TIMED = `-n ${TIMES}`
const PROGRAMS = ['write', 'send', 'read', 'atomic'].flatMap(op =>
  ['bw', 'lat'].map(test => `ib_${op}_${test}`),
)
const WITH_QPS = ['ib_write_bw', 'ib_send_bw'].map(name => `${name} -q 2`)

/** Connects by `-R` or, with a GID of the guest's IPv4 address, without. */
type How = '-R' | '-x 1'

async function clientRuns(guests: Guests, command: string): Promise<Ran> {
  const whole = `timeout ${CLIENT_SECONDS - 5} ${command} -d rxe0 -F ${HERE[4]}`
  const { ok, text } = await guests.inGuest(whole, CLIENT_SECONDS)
  const hasResult = /^ +\d+ +\d+ +\d/m.test(text)
  return { ok: ok && hasResult, text: `${command}\n${text}` }
}

/** A client that is killed once the daemon has it: where its request is lost, that is 4.3 s after it began. */
async function clientIsKilled(guests: Guests, how: How, socket: string): Promise<Ran> {
  const command = `ib_write_bw ${how} -D 60`
  await guests.inGuest(`${command} -d rxe0 -F ${HERE[4]} >/tmp/s.log 2>&1 & echo $! >/tmp/s.pid`)
  const { perftestClients } = await countsOf(guests, socket, 1)
  await guests.inGuest('sleep 2; kill -9 $(cat /tmp/s.pid)')
  return { ok: perftestClients === 1, text: `${command}: killed\n` }
}

interface Counts {
  perftestClients: number
  perftestServed: number
  perftestLeftEarly: number
  perftestTurnedAway: number
}

/** Once the daemon has so many clients. Where the last words of one are lost, it hears of its end by the keep-alive time of 20 s. */
async function countsOf(guests: Guests, socket: string, clients: number): Promise<Counts> {
  for (let tries = COUNT_TRIES; ; tries--) {
    const { text } = await guests.command(20, 'status', '--socket', socket, '--json').ended
    const counts = JSON.parse(text) as Counts
    if (counts.perftestClients === clients || tries === 0) return counts
    await new Promise(resolve => setTimeout(resolve, 500))
  }
}

async function serves(guests: Guests, how: How, programs: readonly string[]): Promise<Ran> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-interop-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  const socket = join(folder, 'daemon.sock')
  const place = ['--address', HERE[4], '--socket', socket, '--inbox', join(folder, 'inbox'), '--insecure']
  const daemon = guests.command(LIMIT_SECONDS, 'daemon', ...place, '--perftest', String(PORT))
  try {
    await daemon.listening
    let text = ''
    for (const program of programs) {
      const ran = await clientRuns(guests, `${program} ${how} ${TIMED}`)
      text += ran.text
      if (ran.ok) continue
      const { text: status } = await guests.command(20, 'status', '--socket', socket).ended
      daemon.stop()
      return { ok: false, text: `${text}${status}${(await daemon.ended).text}` }
    }
    const killed = await clientIsKilled(guests, how, socket)
    text += killed.text
    if (!killed.ok) return { ok: false, text }
    const counts = await countsOf(guests, socket, 0)
    const { perftestServed, perftestLeftEarly, perftestTurnedAway } = counts
    const isRight = perftestServed === programs.length && perftestLeftEarly === 1 && perftestTurnedAway === 0
    if (isRight) return { ok: true, text }
    daemon.stop()
    return {
      ok: false,
      text: `${(await daemon.ended).text}${perftestServed} served, ${perftestLeftEarly} left early`,
    }
  } finally {
    daemon.stop()
    await daemon.ended
    process.off('exit', remove)
    remove()
  }
}

export function daemonCases(guests: Guests, { pathMtu, lossy }: Conditions): Case[] {
  const where = pathMtu === 4096 ? '' : `, MTU ${pathMtu}`
  return (['-x 1', '-R'] as const).map(how => ({
    name: `weir daemon --perftest, all programs${how === '-R' ? ' with -R' : ''}${where}`,
    column: `guest drives, ${lossy ? '2 % loss' : 'clean'}`,
    seconds: 2 * LIMIT_SECONDS,
    run: () => serves(guests, how, how === '-R' ? PROGRAMS : [...PROGRAMS, ...WITH_QPS]),
  }))
}
