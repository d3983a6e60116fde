import { type ErrorCode, WeirError } from '../errors.js'
import type { ConnectOptions } from '../nic/types.js'
import { NicStream, type StreamNic, wordsOf } from '../stream/nic-stream.js'
import type { StreamShape } from '../stream/stream-machine.js'
import type { WeirStream } from '../stream/weir-stream.js'
import type { HostAddress } from '../wire/net/address.js'
import { type DialFailure, encodeMessage, readMessage, TUNNEL_PORT, TUNNEL_VERSION } from './messages.js'
import { showTarget, type Target } from './targets.js'

/** A daemon that dials. */
export interface Via {
  remote: HostAddress
  options: ConnectOptions
}

/** The other daemon refuses, or its target does. `reason` is null where its daemon could not be asked. */
export class TunnelError extends WeirError {
  readonly reason: DialFailure | null

  constructor(code: ErrorCode, reason: DialFailure | null, message: string, options?: ErrorOptions) {
    super(code, message, options)
    this.reason = reason
  }
}

const CODES: Readonly<Record<DialFailure, ErrorCode>> = {
  PROTOCOL: 'WEIR_PROTOCOL',
  NOT_ALLOWED: 'WEIR_REJECTED',
  NO_NAME: 'WEIR_TARGET_UNREACHABLE',
  CONNECTION_REFUSED: 'WEIR_TARGET_UNREACHABLE',
  HOST_UNREACHABLE: 'WEIR_TARGET_UNREACHABLE',
  NETWORK_UNREACHABLE: 'WEIR_TARGET_UNREACHABLE',
  TIMED_OUT: 'WEIR_TARGET_UNREACHABLE',
  BUSY: 'WEIR_FULL',
  FAILED: 'WEIR_TARGET_UNREACHABLE',
}

/**
 * Has another daemon dial a target, and resolves with the stream that carries the TCP connection. Throws TunnelError with the codes above, and
 * those of a connection that cannot be made. After `signal` it throws WEIR_CANCELLED.
 */
export async function openStream(
  nic: StreamNic,
  via: Via,
  target: Target,
  shape: StreamShape,
  signal: AbortSignal,
): Promise<WeirStream> {
  const stream = await connect(nic, via, shape, signal)
  const onAbort = () => stream.destroy(cancelled())
  signal.addEventListener('abort', onAbort, { once: true })
  const onError = () => {}
  stream.on('error', onError)
  try {
    if (signal.aborted) onAbort()
    stream.write(encodeMessage({ open: { version: TUNNEL_VERSION, ...target } }))
    const { opened, refused } = await readMessage(stream)
    if (opened !== undefined) return stream
    throw refusal(target, refused)
  } catch (error) {
    stream.destroy(error as Error)
    throw error instanceof TunnelError ? error : asTunnelError(error as Error)
  } finally {
    signal.removeEventListener('abort', onAbort)
    if (!stream.destroyed) stream.off('error', onError)
  }
}

function connect(
  nic: StreamNic,
  { remote, options }: Via,
  shape: StreamShape,
  signal: AbortSignal,
): Promise<WeirStream> {
  return new Promise((resolve, reject) => {
    const onAbort = () => end.disconnect()
    const end = new NicStream(nic, {
      shape,
      onOpen: stream => {
        signal.removeEventListener('abort', onAbort)
        resolve(stream)
      },
      onEnded: error => {
        signal.removeEventListener('abort', onAbort)
        reject(error === null ? cancelled() : asTunnelError(error))
      },
    })
    nic.verbs.connect(nic.now(), remote, TUNNEL_PORT, end, { ...options, privateData: wordsOf(shape) })
    nic.wake()
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
  })
}

function refusal(
  target: Target,
  refused: { reason: string | number; text: string } | undefined,
): TunnelError {
  const reason = refused?.reason
  if (refused === undefined || typeof reason !== 'string' || !Object.hasOwn(CODES, reason))
    return new TunnelError(
      'WEIR_PROTOCOL',
      'PROTOCOL',
      `${showTarget(target)}: the other daemon does not say whether it dials`,
    )
  return new TunnelError(CODES[reason as DialFailure], reason as DialFailure, refused.text)
}

function asTunnelError(error: Error): TunnelError {
  const code = error instanceof WeirError ? error.code : 'WEIR_INTERNAL'
  const reason = code === 'WEIR_REJECTED' ? 'NOT_ALLOWED' : code === 'WEIR_FULL' ? 'BUSY' : null
  return new TunnelError(code, reason, error.message, { cause: error })
}

function cancelled(): WeirError {
  return new WeirError('WEIR_CANCELLED', 'the tunnel was ended')
}
