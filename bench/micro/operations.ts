/** Everything that a packet needs, and two NICs that are joined in memory. */
import { containerOperations } from './container-operations.js'
import { Joined } from './joined-nics.js'
import type { Operation } from './time-operations.js'
import { wireOperations } from './wire-operations.js'

/** Those whose names have all these parts. */
export function chosenOperations(parts: readonly string[]): Operation[] {
  return operationsOf({ wireOperations, containerOperations, Joined }, parts)
}

/** What every checkout has in its folder `bench/micro`. */
export interface MicroParts {
  wireOperations(): Operation[]
  containerOperations(): Operation[]
  Joined: typeof Joined
}

export function operationsOf(from: MicroParts, parts: readonly string[]): Operation[] {
  const all = [...from.wireOperations(), ...from.containerOperations(), ...joinedNics(from.Joined)]
  return all.filter(({ name }) => parts.every(part => name.includes(part)))
}

/** Both ends together. They are made when they first run. */
function joinedNics(Nics: MicroParts['Joined']): Operation[] {
  let write: Joined | null = null
  let read: Joined | null = null
  let send: Joined | null = null
  let answered: Joined | null = null
  return [
    {
      name: 'two NICs, WRITE of 1 MiB: a packet of 4 KiB, sent and received',
      run: count => {
        write ??= new Nics({ op: 'WRITE', size: 1 << 20 })
        write.packets(count)
      },
    },
    {
      name: 'two NICs, READ of 1 MiB: a packet of 4 KiB, sent and received',
      run: count => {
        read ??= new Nics({ op: 'READ', size: 1 << 20 })
        read.packets(count)
      },
    },
    {
      name: 'two NICs, SEND of 64 bytes: a message',
      run: count => {
        send ??= new Nics({ op: 'SEND', size: 64 })
        send.deliver(count)
      },
    },
    {
      name: 'two NICs, SEND of 64 bytes: a message and its answer, one at a time',
      run: count => {
        answered ??= new Nics({ op: 'SEND', size: 64, mode: 'PING_PONG' })
        answered.deliver(count)
      },
    },
  ]
}
