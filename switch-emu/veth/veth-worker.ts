/** The data path's thread: forwards frames, and between two rounds answers the main thread. */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import type { StreamCommand, StreamEvent } from '../../lib/bgp/outside-network.js'
import type { LinkResult } from '../../lib/scenario/result/result.js'
import { type ErrorRecord, recordOf } from '../../lib/thread/error-record.js'
import type { Ports, SwitchReport } from '../real-time/real-time-fabric.js'
import type { SwitchQuestion } from '../real-time/switch-messages.js'
import type { VethStart } from './veth-messages.js'
import { VethSwitch } from './veth-switch.js'
import { type SharedWakeFlag, WakeFlag } from './wake-flag.js'

export interface WorkerStart {
  start: VethStart
  wake: SharedWakeFlag
}

/** A `stream` request has no reply. */
export type WorkerRequest = SwitchQuestion | { type: 'stream'; event: StreamEvent } | { type: 'stop' }

/** The first reply is to the start. Each of the others but `stream` is to one request, in order. */
export type WorkerReply =
  | { type: 'done' }
  | { type: 'ports'; ports: Ports }
  | { type: 'report'; report: SwitchReport }
  | { type: 'pfcOn'; restored: number[][] }
  | { type: 'linksSet'; links: LinkResult[] }
  | { type: 'zoneSet' }
  /** Something to do for the sockets. */
  | { type: 'stream'; command: StreamCommand }
  /** It could not start. */
  | { type: 'error'; error: ErrorRecord }
  | { type: 'stopped' }

const port = parentPort
// A worker has a parent port. A test that imports this file has none.
if (port !== null) await serve(workerData as WorkerStart, reply => port.postMessage(reply))

async function serve({ start, wake }: WorkerStart, reply: (message: WorkerReply) => void): Promise<void> {
  const flag = WakeFlag.from(wake)
  let sw: VethSwitch
  try {
    sw = new VethSwitch({
      ...start,
      wakeFd: flag.fd,
      outside: command => reply({ type: 'stream', command }),
    })
  } catch (error) {
    reply({ type: 'error', error: recordOf(error) })
    return
  }
  reply({ type: 'done' })
  const isWanted = () => flag.isRaised
  for (let open = true; open; ) {
    sw.run(isWanted)
    flag.lower()
    for (let request = next(); request !== null; request = next()) {
      if (request.type === 'stop') open = false
      else if (request.type === 'stream') sw.onStream(request.event)
      else reply(answer(sw, request))
    }
  }
  await sw.close()
  reply({ type: 'stopped' })
}

function next(): WorkerRequest | null {
  const received = receiveMessageOnPort(port!)
  return received === undefined ? null : (received.message as WorkerRequest)
}

function answer(sw: VethSwitch, request: SwitchQuestion): WorkerReply {
  switch (request.type) {
    case 'begin':
      sw.begin(request.atUnixMs)
      return { type: 'done' }
    case 'ports':
      return { type: 'ports', ports: sw.ports() }
    case 'pfcOn':
      return { type: 'pfcOn', restored: sw.turnPfcOn(request.switch, request.ports, request.priority) }
    case 'setLinks':
      return { type: 'linksSet', links: sw.setLinks(request) }
    case 'setZone':
      sw.setZone(request.zone, request.hosts)
      return { type: 'zoneSet' }
    case 'report':
      return { type: 'report', report: sw.report() }
  }
}
