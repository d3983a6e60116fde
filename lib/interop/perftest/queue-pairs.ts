/** The queue pairs of a test: made by hand, or with `-R` by the connection manager. */
import { WeirError } from '../../errors.js'
import type { Host, HostRegion } from '../../host/host.js'
import type { HostConnection } from '../../host/host-connection.js'
import type { HostQueuePair } from '../../host/host-queue-pair.js'
import type { HostSharedReceiveQueue } from '../../host/host-shared-receive-queue.js'
import type { HostUnreliable } from '../../host/host-unreliable.js'
import { Access, type DomainId } from '../../qp/memory/memory.js'
import type { ReceiveWork } from '../../qp/queues/work.js'
import { HostAddress } from '../../wire/net/address.js'
import type { Keys } from './messages.js'
import type { PerftestService } from './tests.js'

/** READs and atomics that a Weir host answers at a time. */
export const OUT_READS = 16
const ALL = Access.LOCAL_WRITE | Access.REMOTE_READ | Access.REMOTE_WRITE | Access.REMOTE_ATOMIC

const NO_PACKETS = { receivedPackets: 0, otherService: 0 }

/** An end of a queue pair of a test. */
export type TestEnd = HostConnection | HostUnreliable

/** A queue pair of that service, to be connected by hand. */
export async function makePair(
  host: Host,
  remote: string,
  service: PerftestService,
  options: { domain: DomainId; pathMtu: number; sharedReceiveQueue?: HostSharedReceiveQueue },
): Promise<HostQueuePair | HostQueuePair<HostUnreliable>> {
  return service === 'UC'
    ? await host.createQueuePair(remote, { ...options, type: 'uc' })
    : await host.createQueuePair(remote, options)
}

/**
 * Packets that the client has sent to queue pairs of another service than its own. 0 once anything of theirs has come: the services fit then, and
 * somebody else may have sent the others in the client's name. Queue pairs that have ended say nothing.
 */
export async function packetsInVain(ends: readonly TestEnd[]): Promise<number> {
  const stats = await Promise.all(ends.map(end => end.stats().catch(() => NO_PACKETS)))
  if (stats.some(({ receivedPackets }) => receivedPackets > 0)) return 0
  return stats.reduce((sum, { otherService }) => sum + otherService, 0)
}

/** Where the receives of a queue pair are posted: there, or to a queue that all of a client's queue pairs share (--use-srq). */
export type ReceiveEnd = Pick<HostSharedReceiveQueue, 'postReceive'>

/** A queue for the receives of so many queue pairs. */
export async function shareReceives(
  host: Host,
  receives: number,
  domain: DomainId,
): Promise<HostSharedReceiveQueue> {
  return await host.createSharedReceiveQueue({
    depth: 2 ** Math.ceil(Math.log2(Math.max(2, receives))),
    domain,
  })
}

/** Memory of a test: a part for the peer, and a part for what is sent from here. */
export class TestMemory {
  readonly region: HostRegion
  /** Bytes of each part. */
  readonly bytes: number

  private constructor(region: HostRegion, bytes: number) {
    this.region = region
    this.bytes = bytes
  }

  static async open(host: Host, bytes: number, domain: DomainId): Promise<TestMemory> {
    return new TestMemory(await host.register(new SharedArrayBuffer(2 * bytes), ALL, domain), bytes)
  }

  /** Where this end's own part begins. */
  get own(): number {
    return this.bytes
  }

  /** SENDs of the peer go to its part: nobody reads them. */
  receives(count: number): ReceiveWork[] {
    const { region, bytes: length } = this
    return Array.from({ length: count }, (_, id) => ({ id, region, offset: 0, length }))
  }
}

/** What this end says of a queue pair. Of one of the connection manager only key and address count. */
export function keysOf(
  host: Host,
  { region }: TestMemory,
  { qpn, psn }: { qpn: number; psn: number },
  outReads = OUT_READS,
): Keys {
  const { gid } = HostAddress.parse(host.about.address)
  return { outReads, qpn, psn, rkey: region.key, address: region.address, gid }
}

/** Where the packets of the peer's queue pair come from. Throws WEIR_PROTOCOL for a GID of the other family. */
export function hostOf(host: Host, { gid }: Keys): string {
  const remote = HostAddress.fromGid(gid)
  const { family } = HostAddress.parse(host.about.address)
  if (remote.family === family) return remote.toString()
  throw new WeirError(
    'WEIR_PROTOCOL',
    `the peer's queue pair is at ${remote}, this end is at ${host.about.address}: let perftest use a GID of the same family (-x)`,
  )
}

/** Connections of a client with `-R`: its peer listens only a little later. */
const TRIES = 20
const TRY_EVERY_MS = 100

/** Throws WEIR_REJECTED when nobody has come to listen. */
export async function connectPatiently(connect: () => Promise<HostConnection>): Promise<HostConnection> {
  for (let tries = 1; ; tries++) {
    try {
      return await connect()
    } catch (error) {
      const isEarly = error instanceof WeirError && error.code === 'WEIR_REJECTED' && tries < TRIES
      if (!isEarly) throw error
      await new Promise(resolve => setTimeout(resolve, TRY_EVERY_MS))
    }
  }
}
