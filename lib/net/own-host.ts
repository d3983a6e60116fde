import { WeirError } from '../errors.js'
import { Host } from '../host/host.js'
import type { HostOptions } from '../host/host-options.js'
import { CONTROL_RECEIVES, type StreamShape } from '../stream/stream-machine.js'

/** The host of a stream: one of the program's, or one of its own, which is closed with it. */
export interface HostChoice {
  /** A host of the program's. It stays open. */
  host?: Host
  /**
   * Without `host`: the settings of one that the call opens, and closes at its end; `address` is required. Several streams share one host
   * better.
   */
  open?: HostOptions
}

export interface ChosenHost {
  host: Host
  /** The call has opened it. */
  isOwn: boolean
  /** Closes a host of its own. */
  release(): Promise<void>
}

/** Throws WEIR_BAD_ARGUMENT where neither is given, or the host's queues are too short for the shape; and what `Host.open` throws. */
export async function chooseHost({ host, open }: HostChoice, shape: StreamShape): Promise<ChosenHost> {
  const places = Math.max(shape.receives, shape.sends) + CONTROL_RECEIVES
  if (host !== undefined) {
    if (host.queueDepth >= places) return { host, isOwn: false, release: async () => {} }
    const text = `a stream with this memory takes queues of ${places} places, and the host's have ${host.queueDepth}: give it longer ones (queueDepth), or longer segments`
    throw new WeirError('WEIR_BAD_ARGUMENT', text)
  }
  if (open === undefined)
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      'a stream takes a host, or the settings of one: { host } or { open: { address } }',
    )
  const queueDepth = open.queueDepth ?? 2 ** Math.ceil(Math.log2(Math.max(places, 128)))
  const own = await Host.open({ ...open, queueDepth })
  return { host: own, isOwn: true, release: () => own.close() }
}
