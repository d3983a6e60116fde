/** Every value of every option, from the options' own tables and `effects.ts`. */
import { ccNames, ccOptions } from '../../lib/cc/catalogue.js'
import type { OptionSpec, OptionValues } from '../../lib/cc/options.js'
import { PATH_OPTIONS } from '../../lib/cc/path-options.js'
import { TELEMETRY_OPTIONS } from '../../lib/cc/telemetry-options.js'
import { neededBeside } from '../../lib/options/idle.js'
import { keyOf, type ValueOption } from '../../lib/options/option.js'
import { otherValue } from '../support/other-value.js'
import {
  CC_EFFECTS,
  CC_NETWORKS,
  differs,
  type Effect,
  NIC_EFFECTS,
  PATH_EFFECTS,
  TELEMETRY_EFFECTS,
} from './effects.js'
import { needEffect } from './needing.js'
import type { MatrixConfig } from './run-network.js'

/** One value of one option. */
export interface Choice extends Effect {
  /** `telemetry.collect`, `cubic.beta`, `pathMtu`. */
  option: string
  name: string
  group: string
  patch: MatrixConfig
  /** The controller that the option belongs to. */
  controller?: string
  /**
   * `auto` passes it to a controller that has the option itself. It is only tested alone, because pairs are
   * judged at that controller.
   */
  handedOn?: boolean
}

const DEFAULT_CC = 'hpcc'

export const CHOICES: readonly Choice[] = [
  ...TELEMETRY_OPTIONS.flatMap(option =>
    effectsOf(TELEMETRY_EFFECTS, option).map(effect =>
      choice('telemetry', `telemetry.${option.name}`, effect, {
        telemetry: { [keyOf(option)]: effect.value },
      }),
    ),
  ),
  ...PATH_OPTIONS.flatMap(option =>
    effectsOf(PATH_EFFECTS, option).map(effect =>
      choice('paths', `paths.${option.name}`, effect, { paths: { [keyOf(option)]: effect.value } }),
    ),
  ),
  ...Object.entries(NIC_EFFECTS).flatMap(([name, effects]) =>
    typeof effects === 'string'
      ? []
      : effects.map(effect => choice('transport', name, effect, { [name]: effect.value } as MatrixConfig)),
  ),
  ...ccNames().flatMap(controllerChoices),
]

/** An option without an entry shows in the trace of a flow. */
function effectsOf(
  said: Readonly<Record<string, readonly Effect[]>>,
  option: ValueOption,
): readonly Effect[] {
  return said[keyOf(option)] ?? [{ value: otherValue(option), seen: differs('trace') }]
}

function choice(group: string, option: string, effect: Effect, patch: MatrixConfig): Choice {
  const { value } = effect
  const text =
    value instanceof Uint8Array ? 'secret' : typeof value === 'string' ? value : JSON.stringify(value)
  return { ...effect, group, option, name: `${option}=${text}`, patch }
}

function controllerChoices(name: string): Choice[] {
  const usual: Effect = { value: name, networks: ['shared', 'blind'], seen: differs('controllers') }
  const own = needEffect(name) ?? usual
  const chosen = name === DEFAULT_CC ? [] : [choice('cc', 'cc', own, ccPatch(name))]
  for (const made of chosen) made.controller = name
  return [...chosen, ...ccOptions(name).flatMap(spec => optionChoice(name, spec))]
}

function optionChoice(controller: string, spec: OptionSpec): Choice[] {
  const told = ccEffect(controller, spec.name)
  if (typeof told === 'string') return []
  const handedOn =
    controller === 'auto' &&
    [...ccOptions('cubic'), ...ccOptions('hpcc')].some(({ name }) => name === spec.name)
  // What is not said follows from the start, which is careful here.
  const standard = handedOn && spec.name === 'lossReaction' ? 0 : Number(otherValue(spec))
  const { value = standard, needs, ...more } = told
  const effect: Effect = {
    value,
    networks: CC_NETWORKS,
    seen: differs('trace'),
    ...more,
    needs: {
      ...(handedOn && { start: 'careful' }),
      ...needs,
      ...ccPatch(controller, { ...neededBeside(ccOptions(controller), spec), ...needs?.cc?.options }),
    },
  }
  const patch = ccPatch(controller, { [spec.name]: value as number })
  return [{ ...choice(controller, `${controller}.${spec.name}`, effect, patch), controller, handedOn }]
}

/** How the effect of a controller's option is seen, or why it is left alone. */
export function ccEffect(controller: string, option: string): Partial<Effect> | string {
  return CC_EFFECTS[`${controller}.${option}`] ?? CC_EFFECTS[option] ?? {}
}

function ccPatch(name: string, options: OptionValues = {}): MatrixConfig {
  return { cc: { name, options } }
}
