import { rmSync } from 'node:fs'
import { inspect } from 'node:util'
import { WeirError } from '../../lib/errors.js'
import type { LinkResult } from '../../lib/scenario/result/result.js'
import type { LinkChange, Ports, SwitchReport } from './real-time-fabric.js'
import type { SwitchQuestion, SwitchReply } from './switch-messages.js'

/** The switches of a scenario while they run, on any kind of links. */
export interface RunningSwitch {
  /** Starts a new window, at that time of day or now, for `report`. */
  begin(atUnixMs?: number): void | Promise<void>
  /** The results of the ports so far, and what the queue of each holds now. */
  ports(): Ports | Promise<Ports>
  report(): SwitchReport | Promise<SwitchReport>
  /**
   * Turns PFC on again where the watchdog's limit has turned it off. Returns the priorities for each port.
   */
  turnPfcOn(name: string, ports: number[], priority?: number): number[][] | Promise<number[][]>
  /** Changes links. Returns what is set of them now. */
  setLinks(change: LinkChange): LinkResult[] | Promise<LinkResult[]>
  /** Sets which hosts are in a zone of iNOF. */
  setZone(zone: number, hosts: string[]): void | Promise<void>
  close(): Promise<void>
}

/**
 * The body of a switch process. It answers its parent over the IPC channel, and ends when that channel
 * closes, so that it never outlives its lab. Resolves after that.
 *
 * @param folder the lab's, which is removed at the end
 * @param open brings the switches up; `fail` is for a defect that stops them later
 */
export async function runSwitchProcess<Start extends { type: 'start' }>(
  folder: string,
  open: (start: Start, fail: (error: unknown) => void) => Promise<RunningSwitch>,
): Promise<void> {
  if (process.send === undefined) {
    throw new WeirError('WEIR_BAD_STATE', 'the switch process is started by a lab, not by hand')
  }
  const reply = (message: SwitchReply) => {
    if (process.connected) process.send?.(message)
  }
  const disconnected = new Promise<void>(resolve => {
    process.once('disconnect', resolve)
    // The lab may have ended while this process came up.
    if (!process.connected) resolve()
  })
  let running: RunningSwitch | null = null
  let turn = Promise.resolve()
  process.on('message', (request: Start | SwitchQuestion) => {
    turn = turn.then(async () => {
      try {
        if (isStart(request)) {
          running = await open(request, fail)
          reply({ type: 'started' })
        } else {
          reply(await answer(running, request))
        }
      } catch (error) {
        reply(asReply(error))
      }
    })
  })
  reply({ type: 'up' })
  await disconnected
  await turn
  await (running as RunningSwitch | null)?.close()
  // The lab removes its folder itself, unless it was killed.
  rmSync(folder, { recursive: true, force: true })
}

function isStart<Start extends { type: 'start' }>(request: Start | SwitchQuestion): request is Start {
  return request.type === 'start'
}

async function answer(running: RunningSwitch | null, request: SwitchQuestion): Promise<SwitchReply> {
  if (running === null)
    throw new WeirError('WEIR_BAD_STATE', `switch process: ${request.type} came before start`)
  switch (request.type) {
    case 'begin':
      await running.begin(request.atUnixMs)
      return { type: 'begun' }
    case 'ports':
      return { type: 'ports', ...(await running.ports()) }
    case 'pfcOn': {
      const restored = await running.turnPfcOn(request.switch, request.ports, request.priority)
      return { type: 'pfcOn', restored }
    }
    case 'setLinks':
      return { type: 'linksSet', links: await running.setLinks(request) }
    case 'setZone':
      await running.setZone(request.zone, request.hosts)
      return { type: 'zoneSet' }
    case 'report':
      return { type: 'report', report: await running.report() }
  }
}

function asReply(error: unknown): SwitchReply {
  const code = error instanceof WeirError ? error.code : 'WEIR_INTERNAL'
  return { type: 'error', code, message: error instanceof Error ? error.message : String(error) }
}

/** A round threw, which is a defect. The lab sees the process end and reports it. */
function fail(error: unknown): void {
  process.stderr.write(`weir switch: ${inspect(error)}\n`)
  process.exit(1)
}
