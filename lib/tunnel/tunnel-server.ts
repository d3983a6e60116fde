import { WeirError } from '../errors.js'
import type { ConnectionHandler, ConnectionRequest, Listener } from '../nic/types.js'
import { NicStream, type StreamNic } from '../stream/nic-stream.js'
import type { WeirStream } from '../stream/weir-stream.js'
import { readWords } from '../stream/words.js'
import type { Nanos } from '../time/nanos.js'
import { DialError, dial } from './dial.js'
import {
  type DialFailure,
  encodeMessage,
  type OpenTarget,
  readMessage,
  TUNNEL_PORT,
  TUNNEL_VERSION,
} from './messages.js'
import { type AllowedTargets, showTarget } from './targets.js'
import { STREAMS_MAX, type TunnelStreams } from './tunnel-streams.js'

/** How long a peer may take to say what it wants. */
const OPEN_MS = 10_000
/** Places that one peer leaves to others. */
const OTHERS_PLACES = 32
/** How long a peer that was refused may take to end its side. */
const REFUSED_MS = 2000

/** Dials TCP targets for other hosts, as far as the rules allow. Without rules it accepts no connection at all. */
export class TunnelServer implements Listener {
  readonly #nic: StreamNic
  readonly #streams: TunnelStreams
  readonly #allowed: AllowedTargets
  readonly #onRefused: (peer: string, error: Error) => void
  /** Streams whose target has not been dialled, or was refused. */
  readonly #opening = new Map<NicStream, string>()
  #isClosed = false

  /** @param onRefused says why a TCP connection was not carried for an established stream */
  constructor(
    nic: StreamNic,
    streams: TunnelStreams,
    allowed: AllowedTargets,
    onRefused: (peer: string, error: Error) => void,
  ) {
    this.#nic = nic
    this.#streams = streams
    this.#allowed = allowed
    this.#onRefused = onRefused
    nic.verbs.listen(TUNNEL_PORT, this)
  }

  accept(_now: Nanos, { privateData, remote }: ConnectionRequest): ConnectionHandler {
    if (this.#isClosed) throw new WeirError('WEIR_REJECTED', 'the daemon is shutting down')
    if (this.#allowed.texts.length === 0)
      throw this.#refusal('WEIR_REJECTED', 'this daemon dials nothing for other hosts (--allow-tunnel)')
    const accepted = readWords(privateData)
    if (accepted.kind !== 'bytes')
      throw new WeirError('WEIR_PROTOCOL', 'tunnel: a stream of bytes is expected')
    const carried = [...this.#streams.live]
      .filter(({ direction }) => direction === 'in')
      .map(({ peer }) => peer)
    const peers = [...carried, ...this.#opening.values()]
    const mine = peers.length
    const host = remote.toString()
    const hosts = peers.filter(peer => peer === host).length
    if (hosts >= STREAMS_MAX - OTHERS_PLACES)
      throw this.#refusal('WEIR_FULL', `${hosts} TCP connections are carried for this host already`)
    const shape = mine < STREAMS_MAX ? this.#streams.reserve() : null
    if (shape === null)
      throw this.#refusal('WEIR_FULL', `${mine} TCP connections are carried for others already`)
    const end: NicStream = new NicStream(this.#nic, {
      shape,
      accepted,
      onOpen: stream => void this.#serve(end, stream),
      // Its memory is free only now: one that was refused has its place until then.
      onEnded: () => this.#leave(end),
    })
    this.#opening.set(end, host)
    return end
  }

  /** Ends all that is being opened, and accepts no more. */
  close(): void {
    this.#isClosed = true
    for (const end of [...this.#opening.keys()])
      end.disconnect(new WeirError('WEIR_CONNECTION_LOST', 'its daemon was stopped'))
  }

  async #serve(end: NicStream, stream: WeirStream): Promise<void> {
    const ended = new AbortController()
    // What ends the stream is reported by whoever waits for it.
    const onError = () => {}
    const onClose = () => ended.abort()
    stream.on('error', onError)
    stream.once('close', onClose)
    const late = setTimeout(
      () => stream.destroy(new WeirError('WEIR_PROTOCOL', 'tunnel: the peer asks for nothing')),
      OPEN_MS,
    )
    try {
      const target = checked((await readMessage(stream)).open)
      clearTimeout(late)
      const socket = await dial(target, this.#allowed, ended.signal)
      if (!this.#opening.delete(end)) {
        socket.destroy()
        throw new DialError('FAILED', 'the stream has ended')
      }
      stream.off('error', onError)
      stream.off('close', onClose)
      const { localAddress: address = '', localPort: port = 0 } = socket
      stream.write(encodeMessage({ opened: { address, port } }))
      const client = showTarget({ host: address, port })
      this.#streams.add(socket, {
        direction: 'in',
        peer: stream.remoteAddress,
        target: showTarget(target),
        client,
        stream,
      })
    } catch (error) {
      clearTimeout(late)
      this.#streams.counters.refused++
      const left = ended.signal.aborted
      this.#onRefused(
        stream.remoteAddress,
        left ? new WeirError('WEIR_CANCELLED', 'the other end has left') : (error as Error),
      )
      refuse(stream, error as Error)
    }
  }

  #leave(end: NicStream): void {
    if (this.#opening.delete(end)) this.#streams.unreserve()
  }

  #refusal(code: 'WEIR_REJECTED' | 'WEIR_FULL', text: string): WeirError {
    this.#streams.counters.refused++
    return new WeirError(code, text)
  }
}

/** Throws DialError. */
function checked(open: OpenTarget | undefined): OpenTarget {
  if (open === undefined) throw new DialError('PROTOCOL', 'the first message is no Open')
  const { version, host, port } = open
  if (version !== TUNNEL_VERSION)
    throw new DialError('PROTOCOL', `version ${version} of Open is not known here`)
  if (host === '' || Buffer.byteLength(host) > 255 || port < 1 || port > 65_535)
    throw new DialError('PROTOCOL', 'Open names no target')
  return open
}

/** Says why, and ends. */
function refuse(stream: WeirStream, error: Error): void {
  const reason: DialFailure =
    error instanceof DialError ? error.reason : error instanceof WeirError ? 'PROTOCOL' : 'FAILED'
  if (stream.destroyed) return
  stream.end(encodeMessage({ refused: { reason, text: error.message.slice(0, 200) } }))
  // What the peer still sends is of no use; its end comes when it has read why.
  stream.resume()
  const late = setTimeout(
    () => stream.destroy(new WeirError('WEIR_PROTOCOL', 'tunnel: the peer does not end')),
    REFUSED_MS,
  )
  stream.once('close', () => clearTimeout(late))
}
