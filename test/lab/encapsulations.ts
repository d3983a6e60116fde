/**
 * A run between processes with telemetry in a given encapsulation: what arrives, and what a capture contains.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { dump } from '../../bin/commands/dump-packets.js'
import { Place } from './support.js'

/** Encapsulations other than the native ones, and how a data packet with both hops' records prints. */
export const RECORDS = [
  ['p4-int-md', /\.4792 .*INT-MD hops 2 remaining 0, /],
  ['ifa', /\.4791 .*IFA hops 2 passed 2, /],
  ['ioam', /\.4792 .*IOAM trace nodes 2\/2, /],
] as const

const FLOWS = { a: 600_000, b: 300_000 }

function scenario(format: string): string {
  return `
name: encapsulations
link: {rate: 200Mbps, delay: 200us}
hosts: [h1, h2, h3]
switches: [s1, s2]
links: [h1--s1, h2--s1, s1--s2, s2--h3]
int: {format: ${format}}
transport: {pathMtu: 4096}
traffic:
  - {name: a, from: h1, to: h3, size: ${FLOWS.a}B}
  - {name: b, from: h2, to: h3, size: ${FLOWS.b}B}
`
}

/** Runs the scenario, and looks at every packet that the receiver gets. @param records what `weir dump` says of data */
export async function checkEncapsulation(
  t: Test,
  on: 'overlay' | 'veth',
  format: string,
  records: RegExp,
): Promise<void> {
  const place = new Place(t)
  const file = place.file('lab.yaml', scenario(format))
  const json = join(place.folder, 'result.json')
  const captures = join(place.folder, 'captures')
  const ended = await place.weir(['run', file, '--on', on, '--json', json, '--pcap', captures])
  t.equal(ended.code, 0, ended.stderr)
  const { flows, ports } = JSON.parse(readFileSync(json, 'utf8'))
  for (const flow of flows) {
    t.equal(flow.ackedBytes, FLOWS[flow.name as keyof typeof FLOWS])
    t.ok(flow.fctNs >= flow.idealFctNs, 'no flow beats its ideal')
  }
  for (const port of ports) t.equal(port.drops, 0)
  const lines: string[] = []
  const seen = await dump(join(captures, 's2--h3.pcapng'), async text => {
    lines.push(...text.split('\n'))
  })
  t.same(
    [seen.roce, seen.icrcOk, seen.malformed],
    [seen.packets, seen.packets, 0],
    'RoCEv2 alone, each ICRC right',
  )
  const data = lines.filter(line => line.includes('RC_RDMA_WRITE_MIDDLE'))
  t.ok(data.length > 100, `${data.length} packets in the middle of a message`)
  t.ok(
    data.every(line => records.test(line)),
    `all of them like ${data[0]}`,
  )
  const echoes = lines.filter(line => line.includes('RC_ACKNOWLEDGE') && / echo[ ,]/.test(line))
  t.ok(echoes.length > 0 && echoes.every(line => /INT wide hops 2\/2 /.test(line)), 'echoes are wide')
}
