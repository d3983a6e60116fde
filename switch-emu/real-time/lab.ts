/**
 * A scenario's network on this machine in real time, on any kind of links. It exists only as long as its
 * work.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { connectDaemon, type DaemonClient } from '../../lib/client/daemon-client.js'
import { onEndSignal } from '../../lib/end-signals.js'
import { WeirError } from '../../lib/errors.js'
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import type { LinkResult, RunResult } from '../../lib/scenario/result/result.js'
import type { CapturePlace } from '../captures/port-captures.js'
import { checkRealTime } from './check-scenario.js'
import type { LinkChange, Ports, SwitchReport } from './real-time-fabric.js'

/** A daemon that does not answer after this time never will. */
const DAEMON_UP_MS = 30_000
const RETRY_MS = 50

/** A host of a lab, with a connection to its daemon. */
export interface LabHost {
  name: string
  /** Its address within the lab. */
  address: string
  /** Folder that receives files. */
  inbox: string
  client: DaemonClient
}

/** Options of a lab. */
export interface LabUpOptions {
  /** Captures every switch port. */
  captures?: CapturePlace
}

/** A network that is up: a process for the switches, a daemon for each host. */
export interface Lab {
  /** The kind of links. */
  readonly on: RunResult['on']
  readonly scenario: Scenario
  /** Rejects when a process of the lab ends by itself. Never resolves. */
  readonly failed: Promise<never>
  /** Throws WEIR_BAD_ARGUMENT for a name that is no host's. */
  host(name: string): LabHost
  /** Ports and series count from that time of day on. Default, or if that time is over: from now. */
  begin(atUnixMs?: number): Promise<void>
  /** The results of the ports so far, and what the queue of each holds now. */
  ports(): Promise<Ports>
  report(): Promise<SwitchReport>
  /** Changes directions of links. Returns what is set of them now. */
  setLinks(change: LinkChange): Promise<LinkResult[]>
  /** Ends every process and removes the files. Has no effect the second time. */
  down(): Promise<void>
}

/** Brings a lab up, or takes everything down again and throws. */
export type BringUp<L extends Lab = Lab> = (
  scenario: Scenario,
  options: LabUpOptions,
  signal: AbortSignal,
) => Promise<L>

/** The hosts of a lab, after their daemons answer. */
export class LabHosts {
  readonly #hosts = new Map<string, LabHost>()
  #closed = false

  /** Waits until the daemon on that socket answers. */
  async connect(host: Omit<LabHost, 'client'>, socket: string): Promise<void> {
    const deadline = performance.now() + DAEMON_UP_MS
    while (!this.#closed) {
      try {
        const client = await connectDaemon(socket)
        this.#hosts.set(host.name, { ...host, client })
        await client.status()
        return
      } catch (error) {
        if (performance.now() > deadline) throw error
        await sleep(RETRY_MS)
      }
    }
  }

  get(name: string): LabHost {
    const host = this.#hosts.get(name)
    if (host !== undefined) return host
    const names = [...this.#hosts.keys()].join(', ')
    throw new WeirError('WEIR_BAD_ARGUMENT', `lab: there is no host ${name}; there are ${names}`)
  }

  close(): void {
    this.#closed = true
    for (const { client } of this.#hosts.values()) client.close()
    this.#hosts.clear()
  }
}

/**
 * Brings a lab up, calls `work` and takes the lab down again in every case: after an error, Ctrl-C, SIGTERM,
 * or the end of one of its processes. `signal` of `work` is aborted as soon as the lab must end.
 */
export async function withLab<L extends Lab, T>(
  up: BringUp<L>,
  scenario: Scenario,
  work: (lab: L, signal: AbortSignal) => Promise<T>,
  options: LabUpOptions = {},
): Promise<T> {
  checkRealTime(scenario)
  const interrupt = new Interrupt()
  try {
    const lab = await up(scenario, options, interrupt.signal)
    try {
      return await Promise.race([work(lab, interrupt.signal), lab.failed, interrupt.happened])
    } finally {
      interrupt.abort()
      await lab.down()
    }
  } finally {
    interrupt.close()
  }
}

/** Rejects when the signal is aborted. Never resolves. */
export function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const cancel = () =>
      reject(
        new WeirError('WEIR_CANCELLED', 'stopped while the lab was coming up', { cause: signal?.reason }),
      )
    if (signal?.aborted) cancel()
    else signal?.addEventListener('abort', cancel, { once: true })
  })
}

/** SIGINT and SIGTERM as a promise that rejects, while it is open. */
class Interrupt {
  readonly happened: Promise<never>
  readonly #abort = new AbortController()
  #unlisten = () => {}

  constructor() {
    this.happened = new Promise((_, reject) => {
      this.#unlisten = onEndSignal(name => {
        reject(new WeirError('WEIR_CANCELLED', `stopped by ${name}`, { cause: name }))
        this.abort(name)
      })
    })
    this.happened.catch(() => {})
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  abort(reason?: string): void {
    this.#abort.abort(reason)
  }

  close(): void {
    this.#unlisten()
  }
}
