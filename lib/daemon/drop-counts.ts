import type { HostParts } from './host-parts.js'

/**
 * Returns counts of everything that a host has dropped, refused or ignored since it started, by layer and
 * reason, zeros included. Users see no other counters of drops. `bin/commands/drop-words.ts` has the words
 * for people.
 *
 * | layer | whose |
 * |---|---|
 * | `port` | sockets and rings below the NIC (lib/io/port.ts) |
 * | `nic` | rx and tx pipelines (lib/nic) |
 * | `qp` | queue pairs, of all connections together (lib/qp/context/counters.ts) |
 * | `datagram` | datagram queue pairs, all together (lib/qp/datagram/datagram-queue-pair.ts) |
 * | `unreliable` | unreliable connections, all together (lib/qp/unreliable/counters.ts) |
 * | `cm` | the connection manager (lib/cm/counters.ts) |
 * | `tunnel` | TCP connections (lib/tunnel/tunnel-streams.ts) |
 */
export function dropCounts({ nic, port, tunnels }: HostParts): Record<string, number> {
  const { rx, tx, pause, feedback, cm, datagram, unreliable, defects } = nic.counters
  const { sent: _datagramsSent, received: _datagrams, ...datagramDrops } = datagram
  const { sent: _packetsSent, received: _messages, ...unreliableDrops } = unreliable
  const { frames: _received, ...refused } = rx
  const { sent: _sent, repeated: _repeated, received: _taken, ...cmDrops } = cm
  const { drops, rxErrors } = port.counters
  return {
    ...under('port', { ...drops, rxErrors }),
    ...under('nic', {
      ...refused,
      implausibleTelemetry: rx.implausibleTelemetry + feedback.implausibleTelemetry,
      badRateRequests: feedback.badRequests,
      noFrame: tx.noFrame,
      defects,
      malformedPfc: pause.malformed,
      globalPauses: pause.globalPauses,
    }),
    ...under('qp', nic.dropTotals.sum(nic.table.flows)),
    ...under('cm', cmDrops),
    ...under('datagram', datagramDrops),
    ...under('unreliable', unreliableDrops),
    ...under('tunnel', { refused: tunnels.counters.refused, reset: tunnels.counters.reset }),
  }
}

function under(layer: string, counts: object): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([reason, count]) => [`${layer}.${reason}`, count]))
}
