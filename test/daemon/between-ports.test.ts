/**
 * Daemons on different ports work together, whichever connects: no port requires what another one cannot set,
 * and an end that accepts no runs of packets gets none. On loopback, and on veth with the kernel's defaults,
 * where nothing splits runs (UDP_SEGMENT) into packets.
 */
import t from 'tap'
import { libcFault } from '../../lib/io/linux/libc.js'
import { loopbackAddress } from '../support/loopback.js'
import { exchange, noRaw, start, testVeth } from './exchange.js'

const notAlone = process.env.WEIR_IO !== 'raw' && 'raw sockets are tested alone, with WEIR_IO=raw'

const skipped: Record<string, string | false> = {
  batch: libcFault() ?? false,
  dgram: false,
  raw: noRaw || notAlone,
}
const names = Object.keys(skipped)
const here = await Promise.all(
  names.filter(name => !skipped[name]).map(name => start(t, { address: loopbackAddress() }, name)),
)

for (const a of names) {
  for (const b of names.filter(name => name !== a)) {
    t.test(`loopback: ${a} with ${b}`, { skip: skipped[a] || skipped[b]! }, async t => {
      const [from, to] = [a, b].map(name => here.find(host => host.name === name)!)
      await exchange(t, from!, to!)
    })
  }
}

// Nothing splits the runs that `batch` sends.
testVeth(['batch'], ['packet'])
