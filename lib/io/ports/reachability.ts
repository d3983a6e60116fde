/** Finds out that a host cannot be connected to, and why, before silence shows it. */
import { createSocket, type Socket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import { WeirError } from '../../errors.js'
import { KNOCK } from '../../wire/ib/knock.js'
import { answerAtOnce } from './datagram-socket.js'

/** A connection that is answered within this time is not checked. */
const FIRST_LOOK_MS = 20
/** When the probes are sent after the check, ms. The last refusal ends the attempt after about a second. */
const KNOCKS_MS = [80, 400, 900]
/** A refusal may take this long, because the kernel resolves a neighbour's address for 3 s. */
const REFUSAL_MS = 4000
/** Peers that are checked at a time. For further peers only silence ends an attempt. */
const PEERS_MAX = 64

/** A connection that was requested. */
export interface ConnectAttempt {
  /** Literal address of the peer. */
  readonly address: string
  /** Its UDP port. */
  readonly port: number
  /** False once it has been answered, or has ended. */
  readonly waits: boolean
  /** Ends the attempt: the host cannot be reached. */
  giveUp(why: WeirError): void
}

/**
 * Checks requested connections through a socket of its own that is connected to the peer. Only such a socket
 * reports what the kernel knows:
 *
 * | | what the kernel reports | action |
 * |---|---|---|
 * | no route | connecting the socket fails, with ENETUNREACH, EHOSTUNREACH or, from a loopback address,
 * EINVAL | the attempt ends at once, because only this kernel decides it |
 * | nothing listens, or a router reports an unreachable host | an ICMP error answers a datagram that every host drops:
 * ECONNREFUSED, EHOSTUNREACH … | a hint: the attempt ends when three datagrams in about a second have all
 * been refused, so that a daemon may be starting |
 *
 * ICMP errors carry no proof of their sender. Three rules limit what a forged one can do:
 * - They count only while a connection is being requested, never against an established one.
 * - Only this socket receives them. Its port is drawn anew for each peer, so that an attacker who does not
 * see the packets has to guess it.
 * - Attempts after a lost connection are not checked (`ConnectOptions.patient`).
 *
 * A forger can at most end an attempt to connect early.
 */
export class Reachability {
  readonly #local: string
  readonly #watches = new Map<string, Watch>()

  /** @param local literal address from which connections are requested */
  constructor(local: string) {
    this.#local = local
  }

  /** Checks the attempt until it does not wait any more. */
  watch(attempt: ConnectAttempt): void {
    const { address, port } = attempt
    const key = `${address} ${port}`
    const there = this.#watches.get(key)
    if (there) there.attempts.push(attempt)
    else if (this.#watches.size < PEERS_MAX) {
      this.#watches.set(key, new Watch(this.#local, attempt, () => this.#watches.delete(key)))
    }
  }

  close(): void {
    for (const watch of [...this.#watches.values()]) watch.end()
  }
}

/** All waiting attempts to reach one peer. */
class Watch {
  attempts: ConnectAttempt[]
  readonly #local: string
  readonly #address: string
  readonly #port: number
  readonly #onEnd: () => void
  #socket: Socket | null = null
  #timer: NodeJS.Timeout
  #connected = false
  #knocks = 0
  #refusals = 0
  #ended = false

  constructor(local: string, first: ConnectAttempt, onEnd: () => void) {
    this.#local = local
    this.#address = first.address
    this.#port = first.port
    this.attempts = [first]
    this.#onEnd = onEnd
    this.#timer = setTimeout(this.#look, FIRST_LOOK_MS)
    this.#timer.unref()
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#timer)
    this.#socket?.close()
    this.#onEnd()
  }

  readonly #look = (): void => {
    if (!this.#stillWaits()) return
    const socket = createSocket({ type: isIPv6(this.#local) ? 'udp6' : 'udp4', lookup: answerAtOnce })
    this.#socket = socket
    socket.on('error', error => this.#onError(error))
    socket.bind({ address: this.#local, port: 0, exclusive: true }, () => {
      if (this.#ended) return
      socket.connect(this.#port, this.#address, (error?: Error) => {
        if (this.#ended) return
        if (error) return void this.#onError(error)
        this.#connected = true
        this.#knockLater()
      })
    })
  }

  #knockLater(): void {
    const delayMs = KNOCKS_MS[this.#knocks++]
    this.#timer =
      delayMs === undefined ? setTimeout(this.#last, REFUSAL_MS) : setTimeout(this.#knock, delayMs)
    this.#timer.unref()
  }

  /** Not every probe was refused, so only silence ends the attempt. */
  readonly #last = (): void => this.end()

  /** Sends a datagram that a host only counts. */
  readonly #knock = (): void => {
    if (!this.#stillWaits()) return
    this.#socket!.send(KNOCK as Uint8Array, error => {
      // The error of an earlier probe comes either here or by the event.
      if (error && !this.#ended) this.#onError(error)
    })
    this.#knockLater()
  }

  #onError(error: NodeJS.ErrnoException): void {
    if (this.#ended || !this.#stillWaits()) return
    if (this.#connected && ++this.#refusals < KNOCKS_MS.length) return
    const why = whyUnreachable(error, this.#local, this.#address, this.#port, this.#connected)
    const { attempts } = this
    this.end()
    for (const attempt of attempts) attempt.giveUp(why)
  }

  #stillWaits(): boolean {
    this.attempts = this.attempts.filter(({ waits }) => waits)
    if (this.attempts.length === 0) this.end()
    return !this.#ended
  }
}

/** @param hasRoute the kernel has a route, so the error came by ICMP */
function whyUnreachable(
  error: NodeJS.ErrnoException,
  local: string,
  address: string,
  port: number,
  hasRoute: boolean,
): WeirError {
  const code = error.code ?? error.message
  let text = `${address} cannot be reached (${code}): this host or a router on the way says so`
  if (!hasRoute) text = `there is no route to ${address} from ${local} (${code})`
  else if (code === 'ECONNREFUSED') {
    text = `nothing listens on UDP port ${port} of ${address}: start a daemon there with --address ${address}, or name its port with --port`
  }
  return new WeirError('WEIR_UNREACHABLE', text, { cause: error })
}
