import { formatDuration } from '../units/units.js'
import type { PortResult, RunResult } from './result.js'

/** Ports that one line names; the rest are counted. */
const NAMES_MAX = 16

/** What a run says of PFC deadlocks, a line each; empty if there was none and nothing was prevented. */
export function printDeadlocks(result: RunResult): string {
  const lines = [...locked(result), ...watchdogs(result), ...moved(result)]
  return lines.map(line => `${line}\n`).join('')
}

function locked({ ports, flows }: RunResult): string[] {
  const stuck = ports.filter(port => port.deadlocked !== undefined)
  if (stuck.length === 0) return []
  const open = flows.filter(flow => flow.fctNs === null).length
  const many = open === 1 ? '1 flow is' : `${open} flows are`
  return [
    `DEADLOCK: at the end of the run ${names(stuck)} wait for each other in a circle (PFC); ${many} unfinished`,
  ]
}

function watchdogs({ ports }: RunResult): string[] {
  const seen = ports.filter(({ watchdog }) => (watchdog?.detected ?? 0) > 0)
  if (seen.length === 0) return []
  const sum = (of: (watchdog: NonNullable<PortResult['watchdog']>) => number) =>
    seen.reduce((total, { watchdog }) => total + of(watchdog!), 0)
  const times = seen.flatMap(({ watchdog }) => watchdog!.events.map(({ atNs }) => atNs))
  const span =
    times.length === 0
      ? ''
      : `, from ${formatDuration(Math.min(...times))} to ${formatDuration(Math.max(...times))}`
  const off = sum(({ turnedOff }) => turnedOff)
  const detected = sum(w => w.detected)
  return [
    `PFC watchdog: ${detected} ${detected === 1 ? 'deadlock' : 'deadlocks'} detected at ${names(seen)}${span}; ${sum(w => w.restored)} restored, ` +
      `${sum(w => w.droppedFrames)} frames dropped, ${sum(w => w.forwardedFrames)} forwarded against a pause` +
      (off > 0 ? `; PFC turned off ${off === 1 ? 'once' : `${off} times`}` : ''),
  ]
}

function moved({ ports }: RunResult): string[] {
  const frames = ports.reduce((sum, port) => sum + (port.movedFrames ?? 0), 0)
  return frames === 0 ? [] : [`Deadlock prevention: ${frames} high-risk frames moved to another priority`]
}

function names(ports: readonly PortResult[]): string {
  const shown = ports.slice(0, NAMES_MAX).map(port => port.name)
  return shown.join(', ') + (ports.length > NAMES_MAX ? ` and ${ports.length - NAMES_MAX} more` : '')
}
