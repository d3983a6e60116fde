import { featureEntries } from '../../../switch-emu/core/catalogue.js'
import type { PortResult } from './result.js'

/** Columns that features of switches add to a table of ports. */
interface FeatureColumns {
  head: string[]
  /** The cells of one port. A dash stands for a feature that its switch does not have. */
  cells(port: PortResult): string[]
}

/** Returns the columns of the catalogue for which at least one port has a figure. */
export function featureColumns(ports: readonly PortResult[]): FeatureColumns {
  const figures = featureEntries()
    .flatMap(entry => entry.figures ?? [])
    .filter(({ name }) => ports.some(port => figureOf(port, name) !== null))
  return {
    head: figures.map(({ column }) => column),
    cells: port => figures.map(({ name }) => figureOf(port, name)?.toString() ?? '-'),
  }
}

/** What features have to say of ports, a line each. */
export function featureLines(ports: readonly PortResult[]): string {
  const lines = featureEntries().flatMap(({ lines }) =>
    ports.flatMap(port => (lines?.(port as never) ?? []).map(line => `${port.name}: ${line}\n`)),
  )
  return lines.join('')
}

/** Returns a number that a feature has added to a port, named `member`, or `member.name` in a mapping. */
function figureOf(port: PortResult, name: string): number | null {
  const value = name.split('.').reduce<unknown>((of, key) => (of as Record<string, unknown>)?.[key], port)
  return typeof value === 'number' ? value : null
}
