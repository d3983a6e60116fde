import { formatDuration } from '../../units/units.js'
import type { PortResult, RunResult } from './result.js'

/** Ports that one line lists. */
const NAMES_MAX = 16

/**
 * Returns a line for each fact about PFC deadlocks in a run. Empty if none occurred and none was prevented.
 */
export function printDeadlocks(result: RunResult): string {
  const lines = [...locked(result), ...watchdogs(result), ...moved(result)]
  return lines.map(line => `${line}\n`).join('')
}

function locked({ ports, totals }: RunResult): string[] {
  if (totals.deadlockedPorts === 0) return []
  const stuck = ports.filter(port => port.deadlocked !== undefined)
  const open = totals.unfinished
  const many = open === 1 ? '1 flow is' : `${open} flows are`
  return [
    `DEADLOCK: at the end of the run ${names(stuck)} wait for each other in a circle (PFC); ${many} unfinished`,
  ]
}

function watchdogs({ ports, totals: { watchdog } }: RunResult): string[] {
  if (watchdog === null || watchdog.detected === 0) return []
  const { detected, restored, turnedOff, droppedFrames, forwardedFrames, firstNs, lastNs } = watchdog
  const seen = ports.filter(port => (port.watchdog?.detected ?? 0) > 0)
  const span =
    firstNs === null || lastNs === null
      ? ''
      : `, from ${formatDuration(firstNs)} to ${formatDuration(lastNs)}`
  return [
    `PFC watchdog: ${detected} ${detected === 1 ? 'deadlock' : 'deadlocks'} detected at ${names(seen)}${span}; ${restored} restored, ` +
      `${droppedFrames} frames dropped, ${forwardedFrames} forwarded against a pause` +
      (turnedOff > 0 ? `; PFC turned off ${turnedOff === 1 ? 'once' : `${turnedOff} times`}` : ''),
  ]
}

function moved({ totals }: RunResult): string[] {
  const frames = totals.movedFrames
  return frames === 0 ? [] : [`Deadlock prevention: ${frames} high-risk frames moved to another priority`]
}

function names(ports: readonly PortResult[]): string {
  const shown = ports.slice(0, NAMES_MAX).map(port => port.name)
  return shown.join(', ') + (ports.length > NAMES_MAX ? ' and others' : '')
}
