/** What tcpdump sees in a lab, and what `weir lab up --pcap` writes. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { CommandLines } from '../support/command-lines.js'
import { long, usual } from '../support/long.js'
import { without } from '../support/tools.js'
import { sourcesIn } from './sources-in.js'
import { noLabs, Place, SMALL, until } from './support.js'

const skip = noLabs()

/** Captures ICMP on an interface while h1 sends echo requests to h2; returns the sources of what was seen. */
async function echoedOn(t: Test, place: Place, node: string, at: string): Promise<Map<string, number>> {
  const path = join(place.folder, `${at}.pcap`)
  const args = ['-i', at, '-U', '--immediate-mode', '-Z', 'root', '-c', '6', '-w', path, 'icmp']
  const tcpdump = place.start(['lab', 'exec', 'small', node, '--', 'tcpdump', ...args])
  const ended = new Promise(resolve => tcpdump.once('close', resolve))
  await until(() => existsSync(path) && statSync(path).size >= 24)
  const { sent, replies } = await place.echo('small', 'h1', 'h2', 3)
  t.same([sent, replies.length], [3, 3])
  await ended
  return sourcesIn(path)
}

long('--pcap: every switch port, readable while the lab runs and when it is down', { skip }, async t => {
  const place = new Place(t)
  const folder = join(place.folder, 'captures')
  const file = place.file('small.yaml', SMALL)
  const up = await place.weir(['lab', 'up', file, '--pcap', 'captures', '--snaplen', '256'])
  t.equal(up.code, 0, up.stderr)
  t.match(up.stdout, new RegExp(`captures: ${folder}/SWITCH--PEER\\.pcapng`))
  const sent = await place.exec('small', 'h1', ['weir', 'send', place.file('data', 'x'), 'h2'])
  t.equal(sent.code, 0, sent.stderr)
  const first = join(folder, 's1--h1.pcapng')
  await until(() => (sourcesIn(first).get('10.0.0.2') ?? 0) >= 3)
  t.pass('what has passed is in the file while the lab stands')

  await t.test('tcpdump sees both directions', { skip: without('tcpdump') }, async t => {
    const both = { '10.0.0.1': 3, '10.0.0.2': 3 }
    t.same(Object.fromEntries(await echoedOn(t, place, 's1', 's1-h1')), both, 'of a switch’s port')
    t.same(Object.fromEntries(await echoedOn(t, place, 'h1', 'eth0')), both, 'of a host')
  })

  const [{ captures, switch: sw }] = JSON.parse((await place.weir(['lab', 'status', '--json'])).stdout)
  t.match(captures, {
    folder,
    snapBytes: 256,
    bytesMax: 1e9,
    files: [
      { port: 's1:h1', path: first, fault: '', discardedPackets: 0 },
      { port: 's1:h2', path: join(folder, 's1--h2.pcapng'), fault: '', discardedPackets: 0 },
    ],
  })
  const { packets, bytes } = captures.files[0]
  t.ok(packets > 10 && bytes > 1000, `${packets} packets, ${bytes} bytes`)
  const said = (await place.weir(['lab', 'status'])).stdout
  t.match(said, /captures: .*SWITCH--PEER\.pcapng, frames cut to 256 bytes, at most 1GB/)

  const other = await place.weir(['lab', 'up', file, '--name', 'other', '--pcap', 'captures'])
  t.equal(other.code, 1, 'two labs do not write the same files')
  t.match(other.stderr, /captures of lab small.*another folder with --pcap.*WEIR_BAD_STATE/)

  process.kill(sw.pid, 'SIGKILL')
  t.equal((await place.weir(['lab', 'down', 'small'])).code, 0)
  t.ok((sourcesIn(first).get('10.0.0.2') ?? 0) >= 3, 'also when the switch process was killed')
  t.same(readdirSync(folder).sort(), ['s1--h1.pcapng', 's1--h2.pcapng'], 'captures stay')
  t.same(place.leftFiles(), [])
})

usual('mistakes about captures are said', { skip }, async t => {
  const place = new Place(t)
  const file = place.file('small.yaml', SMALL)
  const lines = new CommandLines(t, place.environment())
  const noFolder = /cannot make the folder .* for captures: .*; choose another with --pcap.*WEIR_NO_FILE/
  for (const [args, message] of [
    [['--snaplen', '100'], /--snaplen has no effect without --pcap: leave it out, or give --pcap too/],
    [['--pcap-size', '1GB'], /--pcap-size has no effect without --pcap: leave it out/],
    [['--pcap', 'c', '--snaplen', '63'], /--snaplen is a size from 64B to 65535B, not "63"/],
    [['--pcap', 'c', '--pcap-size', '10KB'], /--pcap-size is a size from 1MiB, not "10KB"/],
    [['--pcap', 'c', '--pcap-size', 'much'], /--pcap-size: .*much/],
    [['--pcap', join(file, 'c')], noFolder],
  ] as const) {
    const ended = await lines.run(['lab', 'up', file, ...args], place.folder)
    t.equal(ended.code, 1, args.join(' '))
    t.match(ended.stderr, message)
  }
  t.same(place.leftFiles(), [])
})
