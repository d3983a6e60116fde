import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { WeirError } from '../../errors.js'
import { whyNotRead } from '../../file-reason.js'
import { packageFile } from '../../package-file.js'

/**
 * A distribution of flow sizes: points of the cumulative distribution, with linear interpolation. Index i of
 * the two arrays is one point. Both arrays rise. The first probability is 0 and the last is 1.
 */
export interface SizeDistribution {
  name: string
  sizesBytes: number[]
  cumulative: number[]
}

/** The published workloads that Weir includes, as files of bench/workloads. */
export const WORKLOAD_NAMES = ['websearch', 'fbhadoop', 'alistorage', 'googlerpc'] as const

/** A published workload by name. Throws WEIR_NO_FILE if the installation lacks its file. */
export function publishedWorkload(name: (typeof WORKLOAD_NAMES)[number]): SizeDistribution {
  return readDistribution(packageFile('bench', 'workloads', `${name}.txt`))
}

/** Reads a distribution from a file. Throws WEIR_NO_FILE, or WEIR_BAD_SCENARIO with the line at fault. */
export function readDistribution(file: string): SizeDistribution {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new WeirError('WEIR_NO_FILE', `the flow sizes ${file} cannot be read: ${whyNotRead(cause)}`, {
      cause,
    })
  }
  return parseDistribution(text, file)
}

/**
 * Parses lines of `size_bytes cumulative_percent`, from 0 to 100 percent, both columns rising; `#` begins a
 * comment. Throws WEIR_BAD_SCENARIO with file and line.
 */
export function parseDistribution(text: string, file: string): SizeDistribution {
  const sizesBytes: number[] = []
  const cumulative: number[] = []
  for (const [i, raw] of text.split('\n').entries()) {
    const line = raw.replace(/#.*/, '').trim()
    if (line === '') continue
    const wrong = (why: string) => new WeirError('WEIR_BAD_SCENARIO', `${file}:${i + 1}:1: ${why}`)
    const match = /^(\d+(?:\.\d+)?)\s+(\d+(?:\.\d+)?)$/.exec(line)
    if (match === null)
      throw wrong(`'${line}' is no point of a distribution: size in bytes, cumulative percent`)
    const size = Number(match[1])
    const share = Number(match[2]) / 100
    if (sizesBytes.length === 0 && share !== 0) throw wrong('the first point must have 0 percent')
    if (size < (sizesBytes.at(-1) ?? 0) || share < (cumulative.at(-1) ?? 0) || share > 1) {
      throw wrong('sizes and percentages must rise from line to line, to 100 percent')
    }
    sizesBytes.push(size)
    cumulative.push(share)
  }
  if (cumulative.at(-1) !== 1) {
    const last = text.trimEnd().split('\n').length
    throw new WeirError('WEIR_BAD_SCENARIO', `${file}:${last}:1: the last point must have 100 percent`)
  }
  return { name: basename(file).replace(/\.[^.]*$/, ''), sizesBytes, cumulative }
}

/** True if the columns are those of a distribution, as `parseDistribution` would have made them. */
export function isDistribution({ sizesBytes, cumulative }: SizeDistribution): boolean {
  const rises = (values: readonly number[]) => values.every((value, i) => value >= (values[i - 1] ?? 0))
  const isWhole = cumulative[0] === 0 && cumulative.at(-1) === 1 && sizesBytes.length === cumulative.length
  return isWhole && rises(sizesBytes) && rises(cumulative)
}

/** Returns the flow size at the quantile `p` (0 to 1), bytes, not rounded. */
export function sizeAt(distribution: SizeDistribution, p: number): number {
  const { sizesBytes, cumulative } = distribution
  let low = 0
  let high = cumulative.length - 1
  // Binary search for the first point at or above p.
  while (low < high) {
    const middle = (low + high) >> 1
    if (cumulative[middle]! < p) low = middle + 1
    else high = middle
  }
  if (low === 0) return sizesBytes[0]!
  const step = cumulative[low]! - cumulative[low - 1]!
  const share = step === 0 ? 1 : (p - cumulative[low - 1]!) / step
  return sizesBytes[low - 1]! + share * (sizesBytes[low]! - sizesBytes[low - 1]!)
}

/** Returns the mean flow size, bytes. */
export function meanSize(distribution: SizeDistribution): number {
  const { sizesBytes, cumulative } = distribution
  let mean = 0
  for (let i = 1; i < sizesBytes.length; i++) {
    mean += (cumulative[i]! - cumulative[i - 1]!) * ((sizesBytes[i]! + sizesBytes[i - 1]!) / 2)
  }
  return mean
}
