import t from 'tap'
import {
  flowLabelFor,
  flowLabelOfPorts,
  udpSourcePortOf,
  udpSourcePortOfQpns,
} from '../../lib/cm/flow-label.js'
import { ackTimeoutExponent, timeoutNs } from '../../lib/cm/timing.js'
import * as req from '../../lib/wire/cm/req.js'
import { readCapture } from './captures.js'

t.test('an exponent stands for 2^(n-8) ms, and never for less than 1 ms', async t => {
  t.equal(timeoutNs(20), 4_096_000_000)
  t.equal(timeoutNs(18), 1_024_000_000)
  t.equal(timeoutNs(24), 65_536_000_000)
  t.equal(timeoutNs(8), 1_000_000)
  t.equal(timeoutNs(0), 1_000_000)
  t.ok(Number.isSafeInteger(timeoutNs(31)))
})

t.test('the ACK timeout is about twice the life time, or the delay when that is longer', async t => {
  t.equal(ackTimeoutExponent(15, 18), 19, 'what Linux puts into a REQ')
  t.equal(ackTimeoutExponent(18, 18), 20, 'both alike: their sum is a power more')
  t.equal(ackTimeoutExponent(25, 18), 25)
  t.equal(ackTimeoutExponent(31, 31), 31, '5 bits')
  // The sum of the two is never more than the exponent says, and never less than half of it.
  for (let delay = 0; delay < 29; delay++) {
    for (let life = 0; life < 28; life++) {
      const sum = 2 ** delay + 2 * 2 ** life
      const exponent = ackTimeoutExponent(delay, life)
      if (2 ** exponent * 1.25 < sum || 2 ** exponent > 2 * sum)
        t.fail(`delay ${delay}, life ${life}: ${exponent}`)
    }
  }
})

t.test('the UDP source port of both directions is that of Linux', async t => {
  const seen: number[] = []
  for (const [name, ports] of [
    ['cm_rping', [54392]],
    ['cm_sendbw_R', [54741, 52651]],
  ] as const) {
    const { mads, data } = readCapture(name)
    const requests = mads.filter(mad => mad.bytes[17] === 0x10).map(mad => req.read(mad.view, 0))
    const fromLabels = requests.map(request => udpSourcePortOf(request.primary.flowLabel))
    t.same(fromLabels, ports)
    for (const packet of data) t.ok(fromLabels.includes(packet.udpSourcePort))
    for (const [i, request] of requests.entries()) {
      const header = new DataView(request.privateData.buffer)
      const port = Number(request.serviceId & 0xffffn)
      t.equal(request.primary.flowLabel, flowLabelOfPorts(header.getUint16(2), port))
      seen.push(fromLabels[i]!)
    }
  }
  t.equal(seen.length, 3)
})

t.test('there is a flow label for every UDP source port, and it is not 0', async t => {
  const wrong: number[] = []
  for (let port = 0xc000; port <= 0xffff; port++) {
    const label = flowLabelFor(port)
    if (label === 0 || label > 0xfffff || udpSourcePortOf(label) !== port) wrong.push(port)
  }
  t.same(wrong, [])
})

t.test('without a flow label both ends find the same port by their QPNs', async t => {
  t.equal(udpSourcePortOfQpns(0x11, 0x11), 0xc000 | 0x121, 'small products fold to themselves')
  t.equal(udpSourcePortOfQpns(0xabcdef, 0x123456), udpSourcePortOfQpns(0x123456, 0xabcdef))
  // 0xffffff^2 = 0xfffffe000001: folded by hand, 20 bits at a time from the top.
  const product = 0xfffffe000001n
  const folded = Number((product ^ (product >> 20n) ^ ((product ^ (product >> 20n)) >> 40n)) & 0xfffffn)
  t.equal(udpSourcePortOfQpns(0xffffff, 0xffffff), 0xc000 | ((folded & 0x3fff) ^ (folded >> 14)))
})
