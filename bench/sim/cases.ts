/** What `bench -- sim` runs: scenarios that other simulators are measured by too, at 100 Gbit/s. */
import { existsSync, readFileSync } from 'node:fs'
import { WeirError } from '../../lib/errors.js'
import { packageFile } from '../../lib/package-file.js'

export interface SimCase {
  name: string
  /** A scenario file. */
  text: string
  /** Runs of a round. The compiler is done after the second. */
  runs: number
}

/** Runs of a round of most cases. */
const RUNS = 3

/** Arrivals of the fat-trees' workloads: about 1,000 flows where there are 16 hosts. */
const WORKLOAD = '2ms'

/** Everything that the cases do not say themselves. */
const COMMON = `link: { rate: 100Gbps, delay: 1us }
transport: { pathMtu: 1024 }
int: { format: compact, hops: 5 }
`

/** The cases of those names, or all but the large ones. Throws WEIR_BAD_ARGUMENT for a name that none has. */
export function simCases(names: readonly string[]): SimCase[] {
  if (names.length === 0) return [...CASES]
  return names.map(name => {
    const found = [...CASES, ...LARGE_CASES].find(one => one.name === name) ?? fromFile(name)
    if (found !== null) return found
    const known = [...CASES, ...LARGE_CASES].map(one => one.name).join(', ')
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `no case, and no file .yaml, is called ${name}; there are ${known}`,
    )
  })
}

function fromFile(name: string): SimCase | null {
  return name.endsWith('.yaml') && existsSync(name)
    ? { name, text: readFileSync(name, 'utf8'), runs: RUNS }
    : null
}

function bundled(name: string): SimCase {
  return { name, text: readFileSync(packageFile('bench', 'scenarios', `${name}.yaml`), 'utf8'), runs: RUNS }
}

/** So many senders to one receiver, 500 KB each (100 KB where there are many). */
function incast(senders: number): SimCase {
  const size = senders > 16 ? '100KB' : '500KB'
  const text = `name: incast-${senders}
${COMMON}hosts: [h0..h${senders}]
switches: [s1]
links: [h0..h${senders}--s1]
cc: { name: hpcc, eta: 0.95, maxStage: 0, wAi: 26B, minRate: 1Gbps }
baseRtt: 4.16us
traffic:
  - { name: incast, incast: [h0..h${senders - 1}], to: h${senders}, size: ${size} }
`
  return { name: `incast-${senders}`, text, runs: RUNS }
}

/** Ten thousand flows of two packets each, one a microsecond. */
function shortFlows(): SimCase {
  const text = `name: flows-10000
${COMMON}hosts: [h0..h16]
switches: [s1]
links: [h0..h16--s1]
cc: { name: hpcc, eta: 0.95, maxStage: 0, wAi: 26B, minRate: 1Gbps }
baseRtt: 4.16us
traffic:
  - { name: short, from: h0, to: h16, size: 2KB, repeat: 10000, every: 1us }
`
  return { name: 'flows-10000', text, runs: RUNS }
}

/** A fat-tree of k-port switches with k^3 / 4 hosts. */
function fatTree(k: number, workload: string, load: string, runs: number): SimCase {
  const half = k / 2
  const links: string[] = []
  for (let pod = 0; pod < k; pod++) {
    for (let edge = 0; edge < half; edge++) {
      const name = `e${pod}x${edge}`
      for (let n = 0; n < half; n++) links.push(`h${(pod * half + edge) * half + n}--${name}`)
      for (let up = 0; up < half; up++) links.push(`${name}--a${pod}x${up}`)
    }
    for (let up = 0; up < half; up++)
      for (let core = 0; core < half; core++) links.push(`a${pod}x${up}--c${up * half + core}`)
  }
  const each = (letter: string) =>
    Array.from({ length: k * half }, (_, n) => `${letter}${Math.floor(n / half)}x${n % half}`)
  const switches = [...each('e'), ...each('a'), ...Array.from({ length: half * half }, (_, n) => `c${n}`)]
  const text = `name: fat-tree-${k}
${COMMON}hosts: [h0..h${k ** 3 / 4 - 1}]
switches: [${switches.join(', ')}]
links:
${links.map(link => `  - ${link}`).join('\n')}
cc: { name: hpcc, eta: 0.95, maxStage: 0, wAi: 78B, minRate: 1Gbps }
baseRtt: 12.48us
traffic:
  - { workload: ${workload}, load: ${load}, duration: ${WORKLOAD} }
`
  return { name: `fat-tree-${k}`, text, runs }
}

const CASES: readonly SimCase[] = [
  bundled('dumbbell-100g'),
  fatTree(4, 'fbhadoop', '30%', RUNS),
  shortFlows(),
  bundled('incast-16'),
  incast(64),
  incast(250),
]

/** A run of these takes minutes, so the compiler's time counts for little. */
const LARGE_CASES: readonly SimCase[] = [fatTree(8, 'websearch', '50%', 1)]
