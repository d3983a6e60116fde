/** Makes the verbs of a daemon: with sealed connections if it has a key or a secret. */
import type { Verbs } from '../nic/types.js'
import { PERF_PORT } from '../perf/messages.js'
import type { Permission } from '../secure/known-peers.js'
import { type SealingOptions, sealVerbs } from '../secure/seal-verbs.js'
import { refuseSealed, type SealedVerbs } from '../secure/sealed-verbs.js'
import {
  FETCH_PRIVATE_DATA,
  GET_PRIVATE_DATA,
  READS_LANE,
  TRANSFER_PORT,
} from '../transfer/protocol/messages.js'
import { TUNNEL_PORT } from '../tunnel/messages.js'

const FLAGS = {
  identity: '--identity',
  peers: '--peers',
  acceptNew: '--accept-new',
  allowClear: '--allow-clear',
  secret: '--key-file',
} as const

/** Null: connections are in the clear. Throws WEIR_BAD_ARGUMENT, WEIR_NO_FILE. */
export function sealDaemon(
  verbs: Verbs,
  options: SealingOptions,
  secret: Uint8Array | undefined,
): SealedVerbs | null {
  const sealed = sealVerbs(verbs, options, secret, FLAGS, permissionOf)
  if (sealed === null) for (const port of [TRANSFER_PORT, PERF_PORT, TUNNEL_PORT]) refuseSealed(verbs, port)
  return sealed
}

/** What a request is for. */
function permissionOf(port: number, privateData: Uint8Array): Permission {
  if (port === PERF_PORT) return 'perf'
  if (port === TUNNEL_PORT) return 'tunnel'
  const [what] = privateData
  const gets = [GET_PRIVATE_DATA[0], FETCH_PRIVATE_DATA[0], READS_LANE]
  return gets.includes(what) ? 'get' : 'send'
}
