/** A run one of whose flows loses its connection. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { CommandLines } from '../support/command-lines.js'
import { scratch } from '../support/daemon-process.js'

/** Tests that the report says so, and that many other flows continue. */
export async function checkLostFlow(t: Test, lines: CommandLines, on: 'virtual' | 'overlay'): Promise<void> {
  const folder = await scratch(t)
  const file = join(folder, 'narrow.yaml')
  writeFileSync(
    file,
    `
link: { rate: 100Mbps, delay: 100us }
hosts: [h1, h2, h3]
switches: { s1: {}, s2: { buffer: 1KB } }               # no room for a packet of data
links: [h1--s1, h2--s1, s1--s2, s2--h3]
transport: { ackTimeout: 134ms, retryCount: 5 }
traffic:
  - { name: lost, from: h1, to: h3, size: 20480B }
  - { name: well, from: h1, to: h2, size: 20480B }
  - { name: more, from: h1, to: h2, size: 2KB, count: 12 }
`,
  )
  const json = join(folder, `${on}.json`)
  const { code, stdout, stderr } = await lines.run(['run', file, '--on', on, '--json', json])
  t.equal(code, 1, `${on}: ${stderr}`)
  // Node.js reports no leak of listeners.
  t.match(
    stderr,
    /^(?:weir: warning: .*\n)?weir: 1 of 14 flows failed; lost \(h1 to h3\): .*RETRY_EXC_ERR.*\(WEIR_CONNECTION_LOST\)\n$/,
  )
  t.match(stdout, /^lost +h1 > h3 +0B of 20.48KB +failed /m, on)
  t.match(stdout, /^well +h1 > h2 +20.48KB +\S+/m, on)
  const [lost, well] = JSON.parse(readFileSync(json, 'utf8')).flows
  t.match(lost, { name: 'lost', fctNs: null, ackedBytes: 0, failed: /RETRY_EXC_ERR/ })
  t.match(well, { name: 'well', fctNs: Number, ackedBytes: 20_480 })
  t.notOk('failed' in well)
}
