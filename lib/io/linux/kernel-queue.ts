/**
 * What the kernel charges for a received datagram in addition to its bytes: `struct sk_buff` and
 * `skb_shared_info`, in the sizes of their slabs.
 */
const BUFFER_BYTES = 256
const SHARED_INFO_BYTES = 320
/** Headers and headroom before the payload. */
const HEAD_BYTES = 128
/**
 * What the kernel charges for a joined run in addition to its bytes. The payload is in pages, and its headers
 * are in a buffer of their own.
 */
const JOINED_BYTES = 832
/**
 * The kernel releases the memory of datagrams that were read at the latest when it is this share of the
 * buffer (udp_init_sock, `forward_threshold`).
 */
const RELEASE_SHARE = 1 / 4

/**
 * Computes how many payload bytes wait in a UDP socket from the memory that the kernel charges to the socket.
 * The two differ in two ways (net/ipv4/udp.c, udp_rmem_release, since Linux 4.12):
 * - The kernel charges the memory that a datagram takes ("truesize"), not its length. The ratio comes from
 * the last datagrams that were read, whose charge follows from how the kernel allocates. docs/measured/system-calls.md
 * has examples.
 * - A reader takes over the whole queue at once. The charge of that part remains until its last datagram, or
 * a quarter of the buffer, has been read. So this class subtracts what has been read since. The kernel does
 * not report when it starts again. Two signs show it: the charge has become smaller, or everything that was
 * taken over has been read.
 */
export class KernelQueue {
  readonly #releaseBytes: number
  /** Read since the last sample: payload bytes, and their charge. */
  #payload = 0
  #charge = 0
  #payloadOfCharge = 1 / 2
  /**
   * At the last sample: the socket's charge, the part of it that a reader had taken over, and the part of
   * that which had been read.
   */
  #charged = 0
  #takenOver = 0
  #read = 0

  /** @param bufferBytes the effective SO_RCVBUF */
  constructor(bufferBytes: number) {
    this.#releaseBytes = bufferBytes * RELEASE_SHARE
  }

  /**
   * A message has been read.
   *
   * @param segmentBytes length of the datagrams that it was joined from, or its own length
   */
  onRead(bytes: number, segmentBytes: number): void {
    this.#payload += bytes
    this.#charge += bytes > segmentBytes ? bytes + JOINED_BYTES : chargeOf(bytes)
  }

  /** The last read found nothing. */
  onEmpty(): void {
    this.#charged = this.#takenOver = this.#read = this.#payload = this.#charge = 0
  }

  /**
   * Returns the payload bytes that wait.
   *
   * @param charged what the socket is charged now, bytes (UdpSocket.receiveMemoryBytes)
   */
  sample(charged: number): number {
    if (this.#charge > 0) this.#payloadOfCharge = this.#payload / this.#charge
    const read = this.#read + this.#charge
    if (charged < this.#charged || read >= Math.min(this.#takenOver, this.#releaseBytes)) {
      // The kernel has released memory, and a reader has taken over the queue again. At most what exceeds the
      // old part has been read of the new one.
      this.#read = charged < this.#charged ? 0 : Math.min(this.#charge, Math.max(0, read - this.#takenOver))
      this.#takenOver = charged
    } else {
      this.#read = read
    }
    this.#charged = charged
    this.#payload = this.#charge = 0
    return Math.max(0, charged - this.#read) * this.#payloadOfCharge
  }
}

/** Charge of a datagram in one piece: a slab of the next power of two, and the sk_buff. */
function chargeOf(bytes: number): number {
  const needed = bytes + HEAD_BYTES + SHARED_INFO_BYTES
  return BUFFER_BYTES + 2 ** (32 - Math.clz32(needed - 1))
}
