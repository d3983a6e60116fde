/** Options and the NIC of commands that talk to programs which are no daemons: they are hosts of their own. */

import { WeirError } from '../../lib/errors.js'
import { Host } from '../../lib/host/host.js'
import type { HostOptions } from '../../lib/host/host-options.js'
import { addressTowards } from '../../lib/interop/address-towards.js'
import { UDP_PORT } from '../../lib/nic/nic-options.js'
import { IO } from '../../lib/open-nic/port-options.js'
import type { CommandOption } from '../../lib/options/option.js'
import { resolveHost } from '../../lib/transfer/task/resolve.js'
import { HostAddress } from '../../lib/wire/net/address.js'

/** No other machine reaches it, as with a daemon. */
const LISTENS_AT = '127.0.0.1'

export const ADDRESS = {
  name: 'address',
  kind: 'text',
  doc: 'address of this end',
  command: {
    flag: '--address <address>',
    usual: `with --listen ${LISTENS_AT}, which no other machine reaches, else the one towards the host`,
  },
} as const satisfies CommandOption

export const OWN_IO = { ...IO, command: { flag: '--io <name>' } } as const satisfies CommandOption

export const OWN_UDP_PORT = {
  ...UDP_PORT,
  doc: 'UDP port of RoCEv2 at both ends',
  command: { flag: '-P, --port <port>' },
} as const satisfies CommandOption

interface OwnHostOptions extends Partial<HostOptions> {
  /** The host to talk to; undefined: this end listens. */
  towards?: string | undefined
  address?: string | undefined
}

/** Opens a NIC, and finds the other end's address. Throws WEIR_BAD_ARGUMENT and WEIR_UNREACHABLE. */
export async function openOwnHost({
  towards,
  address: given,
  ...options
}: OwnHostOptions): Promise<{ host: Host; remote: string }> {
  if (towards?.startsWith('weir://'))
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `${towards} names a daemon: give the host alone, and its UDP port of RoCEv2 by --port if it is not 4791`,
    )
  const address = given ?? (towards === undefined ? LISTENS_AT : await addressFor(towards))
  const remote =
    towards === undefined ? '' : (await resolveHost(towards, HostAddress.parse(address))).toString()
  if (remote !== '' && HostAddress.parse(address).toString() === remote)
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `this end has the other end's address, ${address}: give it another one with --address (127.0.0.2 reaches 127.0.0.1)`,
    )
  try {
    return { host: await Host.open({ ...options, address }), remote }
  } catch (cause) {
    if (!(cause instanceof WeirError) || !cause.message.includes('EADDRINUSE')) throw cause
    const text = `${cause.message}. This command is a host of its own: stop the daemon at ${address}, or give this end another --address`
    throw new WeirError(cause.code, text, { cause })
  }
}

/** Names have IPv4 addresses, if the machine has a way there. */
async function addressFor(towards: string): Promise<string> {
  const family = towards.includes(':') ? '::1' : '127.0.0.1'
  return await addressTowards(await resolveHost(towards, HostAddress.parse(family)))
}
