import { WeirError } from '../../lib/errors.js'
import { checkProtection } from '../../lib/inof/tcp-socket.js'
import type { LinkResult } from '../../lib/scenario/result/result.js'
import { errorOf } from '../../lib/thread/error-record.js'
import { Thread } from '../../lib/thread/thread.js'
import type { LinkChange, Ports, SwitchReport } from '../real-time/real-time-fabric.js'
import { type RunningSwitch, runSwitchProcess } from '../real-time/switch-process.js'
import { OutsideSockets } from './outside-sockets.js'
import type { VethStart } from './veth-messages.js'
import type { WorkerReply, WorkerRequest, WorkerStart } from './veth-worker.js'
import { WakeFlag } from './wake-flag.js'

type ReplyOf<K extends WorkerReply['type']> = Extract<WorkerReply, { type: K }>

/**
 * The body of the switch process of a veth lab, which runs in the switch's network namespace.
 *
 * @param folder the lab's, which is removed at the end
 */
export function runVethSwitchProcess(folder: string): Promise<void> {
  return runSwitchProcess<VethStart>(folder, (start, fail) => VethWorker.open(start, fail))
}

/** The main thread's end of the channel to the data path's thread. */
class VethWorker implements RunningSwitch {
  readonly #thread: Thread
  readonly #flag: WakeFlag
  readonly #sockets: OutsideSockets
  /** Callers that wait for the next replies, in order. */
  readonly #waiting: ((reply: WorkerReply) => void)[] = []

  /** Resolves when it forwards. `fail` is called for a defect that stops it later. */
  static async open(start: VethStart, fail: (error: unknown) => void): Promise<VethWorker> {
    checkProtection(start.scenario.inof ?? {})
    const flag = WakeFlag.make()
    const made = new VethWorker(start, flag, fail)
    const up = await new Promise<WorkerReply>(resolve => made.#waiting.push(resolve))
    if (up.type === 'done') return made
    await made.#thread.ended
    flag.close()
    throw refusal(up)
  }

  private constructor(start: VethStart, flag: WakeFlag, fail: (error: unknown) => void) {
    this.#flag = flag
    this.#sockets = new OutsideSockets(event => {
      this.#thread.post({ type: 'stream', event } satisfies WorkerRequest)
      this.#flag.raise()
    }, start.scenario.inof ?? {})
    const workerData: WorkerStart = { start, wake: flag.shared }
    this.#thread = new Thread(new URL('./veth-worker.js', import.meta.url), {
      what: 'the switches',
      data: workerData,
      onMessage: (reply: WorkerReply) => this.#onReply(reply),
      onLost: fail,
    })
  }

  async begin(atUnixMs?: number): Promise<void> {
    await this.#ask({ type: 'begin', atUnixMs }, 'done')
  }

  async ports(): Promise<Ports> {
    return (await this.#ask({ type: 'ports' }, 'ports')).ports
  }

  async report(): Promise<SwitchReport> {
    return (await this.#ask({ type: 'report' }, 'report')).report
  }

  async turnPfcOn(name: string, ports: number[], priority?: number): Promise<number[][]> {
    return (await this.#ask({ type: 'pfcOn', switch: name, ports, priority }, 'pfcOn')).restored
  }

  async setLinks(change: LinkChange): Promise<LinkResult[]> {
    return (await this.#ask({ type: 'setLinks', ...change }, 'linksSet')).links
  }

  async setZone(zone: number, hosts: string[]): Promise<void> {
    await this.#ask({ type: 'setZone', zone, hosts }, 'zoneSet')
  }

  async close(): Promise<void> {
    await this.#ask({ type: 'stop' }, 'stopped')
    this.#sockets.close()
    await this.#thread.ended
    this.#flag.close()
  }

  async #ask<K extends WorkerReply['type']>(request: WorkerRequest, answer: K): Promise<ReplyOf<K>> {
    const reply = await new Promise<WorkerReply>(resolve => {
      this.#waiting.push(resolve)
      this.#thread.post(request)
      this.#flag.raise()
    })
    if (reply.type === answer) return reply as ReplyOf<K>
    throw refusal(reply)
  }

  #onReply(reply: WorkerReply): void {
    if (reply.type === 'stream') {
      this.#sockets.do(reply.command)
      return
    }
    if (reply.type === 'error' || reply.type === 'stopped') this.#thread.mayEnd()
    this.#waiting.shift()?.(reply)
  }
}

function refusal(reply: WorkerReply): Error {
  if (reply.type === 'error') return errorOf(reply.error)
  return new WeirError('WEIR_PROTOCOL', `the switch's thread answered ${reply.type}`)
}
