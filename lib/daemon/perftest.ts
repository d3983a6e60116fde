/** Answers clients of perftest by the daemon's NIC, beside everything else. */
import { WeirError } from '../errors.js'
import { Host } from '../host/host.js'
import { VerbsService } from '../host/verbs-service.js'
import { PerftestServer } from '../interop/perftest/perftest-server.js'
import type { Left } from '../interop/perftest/session.js'
import type { Logger } from '../log.js'
import type { OpenedNic } from '../open-nic/open-nic.js'
import type { Nanos } from '../time/nanos.js'

/** Clients at a time. */
const CLIENTS_MAX = 4
/** Longest message of a client, and so the memory of each of its two parts: perftest's `-a` ends there. */
const MESSAGE_BYTES_MAX = 8 << 20

/** What the loop calls as each round begins. */
export interface RoundHook {
  onRound: (now: Nanos) => void
}

/** The service that answers. */
export interface ServedPerftest {
  readonly port: number
  /** Clients that are here. */
  readonly clients: number
  /** Clients whose tests were through, that have left before, and that found no place. */
  readonly counters: { served: number; leftEarly: number; turnedAway: number }
  close(): Promise<void>
}

/** Throws WEIR_BAD_ARGUMENT for a host with a secret, and when the TCP port is taken. */
export async function servePerftest(
  opened: OpenedNic,
  hook: RoundHook,
  port: number,
  log: Logger,
): Promise<ServedPerftest> {
  const { nic, address, udpPort } = opened
  if (nic.settings.secret !== undefined)
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      "--perftest has no effect with --key-file: this host refuses connections without the secret, which perftest's programs do not have",
    )
  const { queueDepth } = nic.settings
  const host = await Host.over(
    async (start, events) => {
      const service = VerbsService.over(opened, start, events)
      hook.onRound = now => service.takeWork(now)
      return service
    },
    { address: address.toString(), port: udpPort, queueDepth },
  )
  const counters = { served: 0, leftEarly: 0, turnedAway: 0 }
  const onLeft = ({ remote, report, error, isTurnedAway }: Left) => {
    counters[isTurnedAway ? 'turnedAway' : error === null ? 'served' : 'leftEarly']++
    if (error === null) log.info({ remote, report }, 'a client of perftest has measured')
    else log.warn({ remote, err: error }, 'a client of perftest was not served to its end')
  }
  try {
    const listens = { test: 'any', op: 'write', size: MESSAGE_BYTES_MAX, places: CLIENTS_MAX } as const
    const server = await PerftestServer.listen(host, { ...listens, port }, onLeft)
    return {
      port,
      counters,
      get clients() {
        return server.clients
      },
      async close() {
        await server.close()
        await host.close()
      },
    }
  } catch (error) {
    await host.close()
    throw error
  }
}
