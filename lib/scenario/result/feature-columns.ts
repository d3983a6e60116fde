import { featureEntries } from '../../../switch-emu/core/catalogue.js'
import type { PortResult } from './result.js'

/** Columns of a table of ports that features of their switches add. */
interface FeatureColumns {
  head: string[]
  /** What a port has in them; a dash where its switch does without the feature. */
  cells(port: PortResult): string[]
}

/** The figures of the catalogue that at least one of the ports has. */
export function featureColumns(ports: readonly PortResult[]): FeatureColumns {
  const figures = featureEntries()
    .flatMap(entry => entry.figures ?? [])
    .filter(({ name }) => ports.some(port => figureOf(port, name) !== null))
  return {
    head: figures.map(({ column }) => column),
    cells: port => figures.map(({ name }) => figureOf(port, name)?.toString() ?? '-'),
  }
}

/** A number that a feature has added to a port: `member`, or `member.name` of a mapping. */
function figureOf(port: PortResult, name: string): number | null {
  const value = name.split('.').reduce<unknown>((of, key) => (of as Record<string, unknown>)?.[key], port)
  return typeof value === 'number' ? value : null
}
