import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { connectDaemon, type DaemonClient } from '../../lib/client/daemon-client.js'
import { WeirError } from '../../lib/errors.js'
import { commandOf } from './names.js'
import { withSocketOption } from './socket-option.js'

/** A daemon gives transfers 2 s to end, and measurements another 2 s. */
const STOP_WITHIN_MS = 15_000
/** The sockets are closed by then. Only the process has to end. */
const EXIT_WITHIN_MS = 3_000
const LOOK_EVERY_MS = 20

/** `weir stop` */
export function stopCommand(): Command {
  return withSocketOption(commandOf('stop')).action(runStop)
}

async function runStop({ socket }: { socket: string }): Promise<void> {
  const client = await connectDaemon(socket)
  try {
    const { pid, transfers } = await client.status()
    await stopped(client, pid)
    const interrupted =
      transfers > 0 ? `; it interrupted ${transfers} of its transfers: start them again to continue them` : ''
    process.stdout.write(`the daemon on ${socket} (pid ${pid}) has stopped${interrupted}\n`)
  } finally {
    client.close()
  }
}

async function stopped(client: DaemonClient, pid: number): Promise<void> {
  const over = new AbortController()
  const { signal } = over
  const late = sleep(STOP_WITHIN_MS, true, { signal }).catch(() => true)
  await client.stop()
  const isLate = await Promise.race([client.closed.then(() => false), late])
  over.abort()
  if (isLate) {
    const text = `the daemon (pid ${pid}) was asked to stop and still runs after ${STOP_WITHIN_MS / 1000} s: end it with kill ${pid}`
    throw new WeirError('WEIR_BAD_STATE', text)
  }
  for (let leftMs = EXIT_WITHIN_MS; leftMs > 0 && isAlive(pid); leftMs -= LOOK_EVERY_MS)
    await sleep(LOOK_EVERY_MS)
}

/** Returns false, too, for a process that this one cannot see, as in another container. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
