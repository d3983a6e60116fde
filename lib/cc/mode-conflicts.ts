/**
 * Settings of telemetry that have no effect beside the encapsulation or the controller in force. What they need among
 * themselves is in `telemetry-options.ts`. Scenario files, daemons and connections refuse them alike.
 */
import { WeirError } from '../errors.js'
import { FORMAT_COMPACT } from '../wire/int-shim.js'
import { formatOf, type IntFormat } from '../wire/telemetry.js'
import { ccIsReceiverBased } from './catalogue.js'
import type { Idle } from './idle-setting.js'
import type { OptionValues } from './options.js'
import type { TelemetrySettings } from './telemetry-options.js'

/** A controller and the options that are given for it. */
export interface ControllerChoice {
  name: string
  options?: OptionValues
}

/** A setting without effect. */
export interface Conflict {
  name: keyof TelemetrySettings
  idle: Idle
}

/**
 * What the encapsulation cannot do. IFA and IOAM have no flags; INT-MD has some in packets that collect, and nothing in
 * others. None of the three has an empty header for packets that do not collect.
 */
export function conflictsWithFormat(settings: TelemetrySettings, format: IntFormat): Conflict[] {
  if (formatOf(format) <= FORMAT_COMPACT) return []
  const native = 'the format to wide or compact'
  const found: Conflict[] = []
  if (settings.plain) {
    const why = `the format is ${format}, with which packets that collect nothing are always plain`
    found.push({ name: 'plain', idle: { while: why, mend: native } })
  }
  if (settings.subscribe !== 'flag') return found
  if (format !== 'p4-int-md') {
    const why = `the format is ${format}, which has no flag that asks switches`
    found.push({ name: 'subscribe', idle: { while: why, mend: 'subscribe to dscp' } })
  } else if (settings.collect === 'probe') {
    const why = 'the format is p4-int-md and collect is probe: data packets have no header for the flag'
    found.push({ name: 'subscribe', idle: { while: why, mend: 'subscribe to dscp, or collect to data' } })
  }
  return found
}

/** A receiver that computes the window itself returns no telemetry. @param names controllers of all flows */
export function conflictsWithControllers(settings: TelemetrySettings, names: readonly string[]): Conflict[] {
  if (!names.every(ccIsReceiverBased)) return []
  const idle = { while: `cc is ${names[0]}, whose receiver returns windows`, mend: 'cc to hpcc' }
  const found: Conflict[] = []
  if (settings.answer === 'notify') found.push({ name: 'answer', idle })
  if (settings.hops === 'busiest') found.push({ name: 'hops', idle })
  return found
}

/** Why `countFlows` of a controller has no effect; null: it has. N counts the flows of the last hop, which the busiest hop need not be. */
export function idleCountFlows(settings: TelemetrySettings, cc: ControllerChoice): Idle | null {
  if (settings.hops !== 'busiest' || Number(cc.options?.countFlows ?? 0) === 0) return null
  return { while: 'hops of telemetry is busiest, which does not tell the last hop', mend: 'hops to all' }
}

/** The reason and the way to mend it, for messages. */
export function idleText(name: string, idle: Idle): string {
  return `${name} has no effect while ${idle.while}: leave it out, or set ${idle.mend}`
}

/** Throws WEIR_BAD_ARGUMENT for a setting that the encapsulation cannot do. */
export function checkFormat(settings: TelemetrySettings, format: IntFormat): void {
  refuseFirst(conflictsWithFormat(settings, format))
}

/** Throws WEIR_BAD_ARGUMENT for a setting, or an option of the controller, that has no effect beside the other. */
export function checkModes(settings: TelemetrySettings, cc: ControllerChoice): void {
  refuseFirst(conflictsWithControllers(settings, [cc.name]))
  checkCountFlows(settings, cc)
}

/** Throws WEIR_BAD_ARGUMENT if the controller is told to count flows, and cannot beside these settings. */
export function checkCountFlows(settings: TelemetrySettings, cc: ControllerChoice): void {
  const idle = idleCountFlows(settings, cc)
  if (idle !== null) throw new WeirError('WEIR_BAD_ARGUMENT', `${cc.name}: ${idleText('countFlows', idle)}`)
}

function refuseFirst([first]: readonly Conflict[]): void {
  if (first === undefined) return
  throw new WeirError('WEIR_BAD_ARGUMENT', `telemetry: ${idleText(first.name, first.idle)}`)
}
