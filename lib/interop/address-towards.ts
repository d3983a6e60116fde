/** The address from which this machine reaches another one: what a command takes that is given none. */
import { createSocket } from 'node:dgram'
import { WeirError } from '../errors.js'
import type { HostAddress } from '../wire/net/address.js'

/** Any: nothing is sent. */
const PORT = 9

/** Asks the kernel's routes. Throws WEIR_UNREACHABLE when none leads there. */
export async function addressTowards(remote: HostAddress): Promise<string> {
  const socket = createSocket(remote.family === 4 ? 'udp4' : 'udp6')
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.connect(PORT, remote.toString(), resolve)
    })
    return socket.address().address
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new WeirError('WEIR_UNREACHABLE', `no route leads to ${remote} (${code})`, { cause })
  } finally {
    socket.close()
  }
}
