/** What a received datagram's memory is charged with beyond its bytes: `struct sk_buff` and `skb_shared_info`, in their slabs' sizes. */
const BUFFER_BYTES = 256
const SHARED_INFO_BYTES = 320
/** Headers and head room before the payload. */
const HEAD_BYTES = 128
/** Of a run that was joined: its payload lies in pages, and a head of its own has the headers. */
const JOINED_BYTES = 832
/** The kernel gives back what was read at the latest when it is a quarter of the buffer (udp_init_sock, `forward_threshold`). */
const RELEASE_SHARE = 1 / 4

/**
 * How many payload bytes wait in a UDP socket, by what the kernel charges it with. That is another number, in two ways
 * (net/ipv4/udp.c, udp_rmem_release, since Linux 4.12):
 *
 * - each datagram is charged with the memory that it takes ("truesize"): 8,448 bytes for 4,200, but 63,832 for a run of 63,000. What has been
 *   read last tells the ratio; its own charge follows from how the kernel allocates (seen on loopback and veth; drivers of network
 *   cards allocate in pages, which comes to about the same).
 * - who reads takes over the whole queue at once, and its charge stays until the last datagram of it has been read, or a quarter of the
 *   buffer. So what has been read since is taken off again: nothing tells when the kernel has begun anew but a charge that became
 *   less, and that all that was there has been read.
 */
export class KernelQueue {
  readonly #releaseBytes: number
  /** Read since the last sample: payload, and its charge. */
  #payload = 0
  #charge = 0
  #payloadOfCharge = 1 / 2
  /** At the last sample: what the socket was charged with, what had been taken over by then, and what of it had been read. */
  #charged = 0
  #takenOver = 0
  #read = 0

  /** @param bufferBytes SO_RCVBUF in effect */
  constructor(bufferBytes: number) {
    this.#releaseBytes = bufferBytes * RELEASE_SHARE
  }

  /** A message has been read. @param segmentBytes of the datagrams that it was joined from, or its own */
  onRead(bytes: number, segmentBytes: number): void {
    this.#payload += bytes
    this.#charge += bytes > segmentBytes ? bytes + JOINED_BYTES : chargeOf(bytes)
  }

  /** Nothing was left to read. */
  onEmpty(): void {
    this.#charged = this.#takenOver = this.#read = this.#payload = this.#charge = 0
  }

  /** Payload bytes that wait, of a socket that is charged with so many. */
  sample(charged: number): number {
    if (this.#charge > 0) this.#payloadOfCharge = this.#payload / this.#charge
    const read = this.#read + this.#charge
    if (charged < this.#charged || read >= Math.min(this.#takenOver, this.#releaseBytes)) {
      // Given back, and the queue taken over anew: what was read since is at most what goes beyond the old one.
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

/** Of a datagram in one piece: a slab of the next power of two, and the sk_buff. */
function chargeOf(bytes: number): number {
  const needed = bytes + HEAD_BYTES + SHARED_INFO_BYTES
  return BUFFER_BYTES + 2 ** (32 - Math.clz32(needed - 1))
}
