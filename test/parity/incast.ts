import t, { type Test } from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { completions, REAL_TIME, runOn, type Where } from './run-on.js'

/**
 * Two senders, each of which keeps 128 KB in flight where 1 KB would fill the path. The first window of one
 * alone exceeds the queues, because on a busy machine the other may begin when that one has ended.
 */
const yaml = (settings: string) => `
name: incast
link: { rate: 20Mbps, delay: 20us }
hosts: [h0..h2]
switches:
  s1: { ${settings} }
links: [h0..h1--s1, { ends: s1--h2, rate: 4Mbps }]
cc: { name: fixed-window, window: 128KB }
transport: { pathMtu: 1024, ackTimeout: 2s }
traffic:
  - { name: incast, incast: [h0..h1], to: h2, size: 300KB }
`

/**
 * Tests that an incast through a switch with these settings passes `check` in virtual time and in these
 * places, and that all bytes arrive.
 */
export async function testIncast(
  places: readonly Where[],
  settings: string,
  check: (t: Test, result: RunResult) => void,
): Promise<void> {
  const virtual = new VirtualRun(parseScenario(yaml(settings), 'incast.yaml')).run()
  check(t, virtual)
  t.ok(virtual.flows.every(({ bytes, ackedBytes }) => bytes === ackedBytes))
  for (const { on, skip } of REAL_TIME.filter(({ on }) => places.includes(on))) {
    t.test(`on ${on} as in virtual time`, { skip }, async t => {
      const real = await runOn(t, yaml(settings), on)
      t.same(completions(real), completions(virtual))
      check(t, real)
    })
  }
}

export function sum(values: readonly number[]): number {
  return values.reduce((all, one) => all + one, 0)
}
