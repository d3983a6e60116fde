import { createServer, type Server } from 'node:net'
import { type ErrorCode, WeirError } from '../../lib/errors.js'
import { recordOf } from '../../lib/thread/error-record.js'
import type { SwitchQuestion, SwitchReply } from '../real-time/switch-messages.js'
import {
  type KeeperReply,
  type KeeperRequest,
  type KeeperStart,
  type KeeperStatus,
  RELEASE,
} from './keeper-messages.js'
import { KeptLab } from './kept-lab.js'
import { allLabs, forgetLab, keeperSocket, LAB_MARK } from './lab-state.js'

/** A request is a line. The keeper reads no more than this. */
const REQUEST_CHARACTERS_MAX = 65_536
const REQUEST_MS = 5000

type Request = KeeperStart | SwitchQuestion | { type: typeof RELEASE }

/**
 * The body of the keeper, `weir internal lab-keeper`. It starts in new namespaces, which exist as long as it
 * does. It builds the network in them, and starts the switch process and the daemons. It takes everything
 * down on SIGTERM, or when the process that started it ends without having released it. Resolves after that.
 */
export async function runKeeper(): Promise<void> {
  if (process.send === undefined) {
    throw new WeirError('WEIR_BAD_STATE', 'the keeper of a lab is started by "weir lab up", not by hand')
  }
  const keeper = new Keeper()
  // The process that read this one's output may have ended.
  process.stderr.on('error', () => {})
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, () => keeper.end())
  process.once('disconnect', () => keeper.onDisconnect())
  process.on('message', (request: Request) => keeper.onMessage(request))
  keeper.reply({ type: 'up' })
  if (!process.connected) keeper.onDisconnect()
  await keeper.ended
  // Nothing may keep the namespaces alive any longer.
  process.exit(process.exitCode ?? 0)
}

class Keeper {
  readonly ended: Promise<void>
  #resolveEnded: () => void = () => {}
  #lab: KeptLab | null = null
  #server: Server | null = null
  #released = false
  #ending = false
  #turn: Promise<void> = Promise.resolve()

  constructor() {
    this.ended = new Promise(resolve => {
      this.#resolveEnded = resolve
    })
  }

  reply(message: SwitchReply | { type: typeof RELEASE }): void {
    if (process.connected) process.send?.(message)
  }

  onMessage(request: Request): void {
    this.#turn = this.#turn.then(async () => {
      try {
        await this.#answer(request)
      } catch (error) {
        this.reply(asReply(error))
      }
    })
  }

  onDisconnect(): void {
    if (!this.#released) this.end()
  }

  end(): void {
    if (this.#ending) return
    this.#ending = true
    this.#server?.close()
    void this.#down()
      .catch((error: Error) => {
        process.stderr.write(`${error.message}\n`)
        process.exitCode = 1
      })
      .then(() => this.#resolveEnded())
  }

  async #down(): Promise<void> {
    if (this.#lab !== null) return await this.#lab.down()
    // The starting process ended before it could name the lab. The mark identifies the lab.
    const state = allLabs().find(({ id }) => id === process.env[LAB_MARK])
    if (state !== undefined) forgetLab(state)
  }

  async #answer(request: Request): Promise<void> {
    if (request.type === 'start') {
      this.#lab = new KeptLab(request, error => this.#onLoss(error))
      await this.#lab.up()
      await this.#serve(request.lab)
      this.reply({ type: 'started' })
    } else if (request.type === RELEASE) {
      this.#released = true
      this.reply({ type: RELEASE })
    } else {
      this.reply(await this.#lab!.askSwitch(request))
    }
  }

  /**
   * A process of the lab has ended by itself. A run ends then. A lab remains, and its status shows the loss.
   */
  #onLoss(error: WeirError): void {
    if (this.#released || this.#ending) return
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
    this.end()
  }

  /** Answers every client with the lab's status, or does what it requests. */
  async #serve(lab: string): Promise<void> {
    const path = keeperSocket(lab)
    this.#server = createServer({ allowHalfOpen: true }, socket => {
      let text = ''
      socket.on('error', () => {})
      socket.setTimeout(REQUEST_MS, () => socket.destroy())
      socket.setEncoding('utf8').on('data', piece => {
        text += piece
        if (text.length > REQUEST_CHARACTERS_MAX) socket.destroy()
      })
      socket.once('end', () => {
        socket.setTimeout(0)
        void this.#serveOne(text).then(answer => socket.end(JSON.stringify(answer)))
      })
    })
    await new Promise<void>((resolve, reject) => {
      this.#server!.once('error', reject).listen(path, resolve)
    })
  }

  async #serveOne(text: string): Promise<KeeperStatus | KeeperReply> {
    if (text === '') return await this.#status()
    try {
      const request = JSON.parse(text) as KeeperRequest
      switch (request.type) {
        case 'pfcOn':
          return { type: 'pfcOn', restored: await this.#lab!.turnPfcOn(request) }
        case 'setLink':
          return { type: 'setLink', links: await this.#lab!.setLink(request) }
        case 'setZone':
          return { type: 'setZone', hosts: await this.#lab!.setZone(request) }
      }
    } catch (error) {
      return { type: 'error', error: recordOf(error) }
    }
  }

  async #status(): Promise<KeeperStatus> {
    const lab = this.#lab!
    const answer = await lab.askSwitch({ type: 'ports' }).catch(() => null)
    const { processes, links } = lab
    return { unixMs: Date.now(), processes, links, switch: answer?.type === 'ports' ? answer : null }
  }
}

function asReply(error: unknown): SwitchReply {
  const code: ErrorCode = error instanceof WeirError ? error.code : 'WEIR_INTERNAL'
  return { type: 'error', code, message: error instanceof Error ? error.message : String(error) }
}
