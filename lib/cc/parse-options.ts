/** Options of controllers on command lines: `eta=0.95`, `minRate=1Gbps`, `wAi=26B`. */
import { describeOption } from '../options/describe.js'
import { parseOptions } from '../options/parse-options.js'
import { ccNames, ccNeedsText, ccOptions } from './catalogue.js'
import type { OptionSpec, OptionValues } from './options.js'

/**
 * Values by name; a bare number is in bytes, bit/s or ns. Throws WEIR_BAD_ARGUMENT for an unknown controller or option, for a value out of
 * its range, and for an option that has no effect beside the others.
 */
export function parseCcOptions(controller: string, texts: readonly string[]): OptionValues {
  return parseOptions(controller, ccOptions(controller), texts, { bare: true, nameOf: ({ name }) => name })
}

/** For `--help`: every option of every controller, a line each; those that a controller has of another one once. */
export function describeCcOptions(): string[] {
  const described = new Map<OptionSpec, string>()
  return ccNames().flatMap(controller => {
    const specs = ccOptions(controller)
    const others = new Set(specs.flatMap(spec => described.get(spec) ?? []))
    const own = specs.filter(spec => !described.has(spec))
    for (const spec of own) described.set(spec, controller)
    const shared = others.size > 0 ? [`  and the options of ${[...others].join(' and ')}`] : []
    const needs = ccNeedsText(controller)
    const said = needs === '' ? [] : [`  ${needs}`]
    return [`${controller}:`, ...said, ...own.map(spec => `  ${describeOption(spec)}`), ...shared]
  })
}
