/** Programs of perftest whose queue pairs are of another service than those of Weir's listening end: it says so, and lets no client report success. */
import type { Case, Conditions } from './case.js'
import { type Guests, HERE, type Ran } from './guests.js'

const LIMIT_SECONDS = 60

/** Says that the client's program has not succeeded: ib_send_bw ends with status 0 all the same. */
const FAILED = /Failed to (exchange data|close connection)/

async function isRefused(guests: Guests, command: string): Promise<Ran> {
  const here = guests.command(LIMIT_SECONDS, 'perf', 'bw', '--perftest', '--listen', '--address', HERE[4])
  await here.listening
  const client = `timeout ${LIMIT_SECONDS - 20} ${command} -d rxe0 -x 1 -F -n 100 ${HERE[4]}`
  const there = await guests.inGuest(client, LIMIT_SECONDS - 10)
  await new Promise(resolve => setTimeout(resolve, 500))
  here.stop()
  const { ok, text } = await here.ended
  const isReported = /has sent \d+ packets of another service than RC, /.test(text)
  return { ok: ok && isReported && FAILED.test(there.text), text: there.text + text }
}

export function misfitCases(guests: Guests, { pathMtu, lossy }: Conditions): Case[] {
  if (pathMtu !== 4096 || lossy) return []
  return ['ib_write_bw -c UC', 'ib_send_bw -c UC', 'ib_send_bw -c UD'].map(command => ({
    name: `${command} to a reliable end: refused`,
    column: 'guest drives, clean',
    seconds: 2 * LIMIT_SECONDS,
    run: () => isRefused(guests, command),
  }))
}
