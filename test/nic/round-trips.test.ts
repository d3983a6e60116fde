import t from 'tap'
import { WorkOpcode } from '../../lib/qp/work.js'
import { connected, makePair, memoryOf, pattern, RATE_BPS } from './pair.js'

const LENGTH = 1 << 20
const READS = 20

t.test(
  'a message that every later packet of the peer acknowledges again is no measure of a round trip',
  async t => {
    const settings = {
      pathMtu: 1024,
      cc: { name: 'cubic', options: {} },
      start: 'careful' as const,
      lineRateBps: RATE_BPS / 100,
    }
    const pair = makePair({ a: settings, b: settings })
    const { left, right } = connected(pair)
    const hello = memoryOf(pair.b, pattern(1, 100))
    right.connection!.postSend(pair.network.now, {
      id: 1,
      opcode: WorkOpcode.SEND,
      region: hello,
      offset: 0,
      length: 100,
    })
    t.ok(pair.until(() => right.log.includes('completion 1 SUCCESS')))
    const source = memoryOf(pair.b, pattern(2, LENGTH))
    const sink = memoryOf(pair.a, Buffer.alloc(LENGTH))
    const read = (now: number, id: number) =>
      left.connection!.postSend(now, {
        id,
        opcode: WorkOpcode.RDMA_READ,
        region: sink,
        offset: 0,
        length: LENGTH,
        remoteAddress: source.address,
        rkey: source.key,
      })
    left.onDone = (now, _connection, { id, isReceive }) => {
      if (!isReceive && id < 100 + READS) read(now, id + 1)
    }
    const beganNs = pair.network.now
    read(beganNs, 100)
    t.ok(pair.until(() => left.log.includes(`completion ${100 + READS} SUCCESS`)))
    const seconds = (pair.network.now - beganNs) / 1e9
    const atLineRate = ((READS + 1) * LENGTH * 8) / (RATE_BPS / 100)
    t.ok(seconds < 1.5 * atLineRate, `${seconds} s, the link alone takes ${atLineRate} s`)
    t.ok(sink.buffer!.equals(source.buffer!))
  },
)
