/** Options of controllers on command lines: `eta=0.95`, `minRate=1Gbps`, `wAi=26B`. */
import { describeOption } from '../options/describe.js'
import { parseOptions } from '../options/parse-options.js'
import { ccNames, ccNeedsText, ccOptions } from './catalogue.js'
import type { OptionValues } from './options.js'

/**
 * Values by name. Throws WEIR_BAD_ARGUMENT for an unknown controller or option, for a value out of its range, and for an option that has no
 * effect beside the others.
 */
export function parseCcOptions(controller: string, texts: readonly string[]): OptionValues {
  return parseOptions(controller, ccOptions(controller), texts, ({ name }) => name)
}

/** Options that a controller shares with another one are listed once, if there are so many. */
const SHARED_LEAST = 3

/** For `--help`: every option of every controller, a line each. */
export function describeCcOptions(): string[] {
  const described = new Map<string, string>()
  return ccNames().flatMap(controller => {
    const lines = ccOptions(controller).map(spec => describeOption(spec, ccOptions(controller)))
    const others = [...new Set(lines.flatMap(line => described.get(line) ?? []))]
    const shared = others.flatMap(other => {
      const names = lines.filter(line => described.get(line) === other).map(line => line.split('=')[0]!)
      return names.length < SHARED_LEAST ? [] : [{ other, names }]
    })
    const isShared = (line: string) => shared.some(({ other }) => described.get(line) === other)
    const own = lines.filter(line => !isShared(line))
    for (const line of own) described.set(line, controller)
    const needs = ccNeedsText(controller)
    const about = needs === '' ? [] : [needs]
    return [`${controller}:`, ...[...about, ...own, ...shared.map(sharedText)].map(line => `  ${line}`)]
  })
}

function sharedText({ other, names }: { other: string; names: readonly string[] }): string {
  const isAll = names.length === ccOptions(other).length
  return `and the options of ${other}${isAll ? '' : `: ${names.join(', ')}`}`
}
