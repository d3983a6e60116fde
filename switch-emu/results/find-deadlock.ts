/**
 * Finds queues that wait for each other in a circle. It examines the switches from outside, without timer or
 * watchdog.
 *
 * A queue that obeys a pause can continue once its peer's memory for that ingress port and priority has
 * drained. The frames there wait in queues of the peer. If the frames in stuck queues alone exceed the bytes
 * at which the peer resumes, it can never continue. So the search repeatedly removes held queues that can
 * continue. The remaining ones are deadlocked: the greatest set in which each waits for others of the set.
 *
 * Pauses from hosts do not count, because a host continues by itself. With dynamic thresholds the current
 * threshold counts.
 */
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import type { Nanos } from '../../lib/time/nanos.js'
import { Pfc } from '../core/pfc/pfc.js'
import { PRIORITIES } from '../core/queueing/shared-buffer.js'
import type { Switch } from '../core/switch.js'
import { linksOf } from '../node-links.js'

/** A queue: frames of one priority that wait to leave by one port. */
interface DeadlockedQueue {
  switch: string
  port: number
  priority: number
}

interface Held extends DeadlockedQueue {
  /** The switch that pauses it, and the port there by which its frames come in. */
  peer: Switch
  peerPort: number
}

/**
 * Returns all queues that are deadlocked at `now`, by switch, port and priority. Empty if there is no
 * deadlock.
 */
export function findDeadlock(
  scenario: Pick<Scenario, 'links'>,
  switches: readonly Switch[],
  now: Nanos,
): DeadlockedQueue[] {
  let stuck = switches.flatMap(sw => heldQueues(scenario, switches, sw, now))
  for (;;) {
    const left = stuck.filter(queue => stuckBytes(queue, stuck) > resumeBytes(queue))
    if (left.length === stuck.length) break
    stuck = left
  }
  return stuck.map(({ switch: name, port, priority }) => ({ switch: name, port, priority }))
}

/** Returns the queues of a switch that hold frames and that another switch pauses. */
function heldQueues(
  scenario: Pick<Scenario, 'links'>,
  switches: readonly Switch[],
  sw: Switch,
  now: Nanos,
): Held[] {
  if (sw.losslessMask === 0) return []
  const held: Held[] = []
  for (const { pause, queues, index: port } of sw.ports) {
    const mask = pause.heldMask(now)
    if (mask === 0) continue
    const end = linksOf(scenario, sw.name)[port]?.peer
    const peer = switches.find(other => other.name === end?.node)
    if (end === undefined || peer === undefined) continue
    for (let priority = 0; priority < PRIORITIES; priority++) {
      if ((mask >>> priority) & 1 && queues[priority]!.count > 0) {
        held.push({ switch: sw.name, port, priority, peer, peerPort: end.port })
      }
    }
  }
  return held
}

/** Bytes that came over the link of a queue and wait at its end in stuck queues. */
function stuckBytes(queue: Held, stuck: readonly Held[]): number {
  let bytes = 0
  for (const { switch: name, port, priority } of stuck) {
    if (name !== queue.peer.name) continue
    queue.peer.ports[port]!.queues[priority]!.forEach(frame => {
      if (frame.port === queue.peerPort && frame.ingressPriority === queue.priority) bytes += frame.wireLength
    })
  }
  return bytes
}

function resumeBytes({ peer, priority, peerPort }: Held): number {
  const accounting = peer.find(Pfc)?.accounting ?? null
  // The peer has ended the pause, and its frame is on its way.
  const asks = accounting !== null && ((accounting.xoffMask(peerPort) >>> priority) & 1) === 1
  return asks ? accounting.resumeBytes() : Number.POSITIVE_INFINITY
}
