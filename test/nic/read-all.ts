/** A host reads from another behind a switch, in virtual time. */
import type { TelemetrySettings } from '../../lib/cc/telemetry-settings.js'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { Nic } from '../../lib/nic/nic.js'
import type { Connection, ConnectionHandler } from '../../lib/nic/types.js'
import { Access } from '../../lib/qp/memory/memory.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { Network } from '../../lib/sim/network.js'
import { Random } from '../../lib/sim/random.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as deth from '../../lib/wire/ib/deth.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { Switch } from '../../switch-emu/core/switch.js'

export const MIB = 1 << 20
export const READS = 10

/** A reader behind a link a tenth as fast as the server's: what the server sends at line rate queues at the switch. */
interface Links {
  /** Delay of each link, ns. */
  delayNs: number
  /** Room of the queue towards the reader. The rest is dropped. */
  queueBytes: number
  silent: boolean
  /** Default 1 Gbit/s. */
  rateBps?: number
}
const SHORT: Links = { delayNs: 5000, queueBytes: 100e6, silent: false }

export interface Reader {
  telemetry?: Partial<TelemetrySettings>
  /** True: neither end takes the other for a Weir host. */
  plain?: boolean
  /** READs of so many bytes. */
  readBytes?: number
  /** Default: careful with auto, as in daemons; otherwise line-rate. */
  start?: 'careful' | 'line-rate'
  /** READs outstanding at most; default: as many as agreed. */
  outstanding?: number
}

export function readAll(cc: string, links: Links = SHORT, options: Reader = {}) {
  const { delayNs, queueBytes, silent, rateBps = 1e9 } = links
  const { telemetry = {}, plain = false, readBytes = MIB, outstanding = Number.POSITIVE_INFINITY } = options
  const start = options.start ?? (cc === 'auto' ? 'careful' : 'line-rate')
  const reads = (READS * MIB) / readBytes
  const random = new Random(1)
  const pool = new FramePool(50_000, 512)
  const network = new Network({ pool })
  const addresses = [HostAddress.parse('10.0.0.1'), HostAddress.parse('10.0.0.2')] as const
  const nics = addresses.map(
    (address, i) =>
      new Nic({
        address,
        pool,
        random: () => random.u32(),
        lineRateBps: i === 0 ? 1e9 : 10e9,
        pathMtu: 1024,
        icrc: 'off',
        cc: { name: cc, options: {} },
        baseRttNs: 4 * delayNs + 10_000,
        int: { format: 'wide', hops: 1 },
        start,
        telemetry,
        queueDepth: Math.max(128, reads),
      }),
  )
  const [reader, server] = nics as [Nic, Nic]
  const sw = new Switch({
    id: 1,
    name: 's1',
    ports: [{ rateBps, queueBytesMax: queueBytes }, { rateBps: 10e9 }],
    bufferBytes: 100e6,
    ...(silent && { features: { telemetry: false } }),
    pool,
    random: () => 0,
  })
  if (plain) hideWords(sw)
  const ids = nics.map(nic => network.addNode(nic))
  const swId = network.addNode(sw)
  for (const [i, address] of addresses.entries()) {
    sw.routes.set(address, [i])
    network.connect(ids[i]!, 0, swId, i, delayNs)
  }
  const source = server.memory.register(null, READS * MIB, Access.REMOTE_READ)
  const sink = reader.memory.register(null, READS * MIB, Access.LOCAL_WRITE)
  const serving: Connection[] = []
  const idle: ConnectionHandler = {
    onEstablished: (_now, connection) => {
      serving.push(connection)
    },
    onCompletion: () => {},
    onClosed: () => {},
  }
  server.listen(1, { accept: () => idle })
  let done = 0
  let posted = 0
  const post = (now: number, connection: Connection): void => {
    for (; posted < reads && posted - done < outstanding; posted++) {
      const work = {
        opcode: WorkOpcode.RDMA_READ,
        region: sink,
        offset: posted * readBytes,
        length: readBytes,
      }
      const remoteAddress = source.address + posted * readBytes
      connection.postSend(now, { ...work, id: posted, remoteAddress, rkey: source.key })
    }
  }
  reader.connect(0, addresses[1], 1, {
    onEstablished: post,
    onCompletion: (now, connection, completion) => {
      done += completion.status === 0 ? 1 : 0
      if (done === reads) connection.disconnect(now)
      else post(now, connection)
    },
    onClosed: () => {},
  })
  network.kick(ids[0]!)
  let serverRateBps = 0
  while (done < reads && network.step()) serverRateBps = serving[0]?.stats.rateBps ?? serverRateBps
  const { maxQueueBytes, drops } = sw.report(network.now, 0)
  const seconds = network.now / 1e9
  network.runUntil(network.now + 1e9)
  return {
    peakQueue: maxQueueBytes,
    done,
    serverRateBps,
    inUse: pool.inUse,
    drops,
    seconds,
    goodputBps: (READS * MIB * 8) / seconds,
  }
}

/** Removes Weir's data from the connection manager's datagrams, whichever way frames take through the switch. */
function hideWords(sw: Switch): void {
  const onFrame = sw.onFrame.bind(sw)
  const pass = sw.pass.bind(sw)
  sw.onFrame = (now, port, frame) => onFrame(now, port, withoutWords(frame))
  sw.pass = (now, port, frame) => pass(now, port, withoutWords(frame))
}

function withoutWords(frame: Frame): Frame {
  const words = frame.bytes.subarray(0, frame.length).indexOf('WEIR', frame.bth, 'latin1')
  if (words > 0 && deth.QPN_GSI === bth.destQpn(frame.view, frame.bth)) frame.bytes.fill(0, words, words + 4)
  return frame
}
