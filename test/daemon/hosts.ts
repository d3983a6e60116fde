/** Daemons within the test's process, with their data side on the same thread or on another one. */
import { join } from 'node:path'
import type { Test } from 'tap'
import { connectDaemon, type DaemonClient } from '../../lib/client/daemon-client.js'
import { Daemon, type DaemonOptions } from '../../lib/daemon/daemon.js'
import type { WeirError } from '../../lib/errors.js'
import { createLog } from '../../lib/log.js'
import { scratch } from '../support/daemon-process.js'
import { loopbackAddress } from '../support/loopback.js'

/** A daemon, and a client of it. */
export interface Host {
  daemon: Daemon
  client: DaemonClient
  options: DaemonOptions
}

export async function start(t: Test, worker: boolean, more: Partial<DaemonOptions> = {}): Promise<Host> {
  const folder = await scratch(t)
  const options = {
    address: loopbackAddress(),
    inbox: join(folder, 'in'),
    socketPath: join(folder, 's'),
    log: createLog('silent', 'test'),
    worker,
    ...(process.env.WEIR_IO && { io: process.env.WEIR_IO }),
    ...more,
  }
  const daemon = await Daemon.start(options)
  t.teardown(() => daemon.close())
  const client = await connectDaemon(options.socketPath)
  t.teardown(() => client.close())
  return { daemon, client, options }
}

export async function pair(t: Test, worker: boolean): Promise<[Host, Host]> {
  return await Promise.all([start(t, worker), start(t, worker)])
}

/** What a promise rejects with. */
export async function errorOf(promise: Promise<unknown>): Promise<WeirError> {
  return await promise.then(
    () => Promise.reject(new Error('it worked')),
    error => error,
  )
}

export const MB = 1e6
