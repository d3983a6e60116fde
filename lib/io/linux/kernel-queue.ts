/**
 * What a received datagram is charged beyond its bytes: `struct sk_buff` and `skb_shared_info`, in the sizes of their
 * slabs.
 */
const BUFFER_BYTES = 256
const SHARED_INFO_BYTES = 320
/** Headers and head room before the payload. */
const HEAD_BYTES = 128
/**
 * What a joined run is charged beyond its bytes: its payload lies in pages, and its headers in a buffer of their own.
 */
const JOINED_BYTES = 832
/**
 * The kernel gives back the memory of what was read once it is this share of the buffer, at the latest
 * (udp_init_sock, `forward_threshold`).
 */
const RELEASE_SHARE = 1 / 4

/**
 * How many payload bytes wait in a UDP socket, worked out from the memory that the kernel charges it with. The two
 * differ in two ways (net/ipv4/udp.c, udp_rmem_release, since Linux 4.12):
 * - Each datagram is charged the memory that it takes ("truesize"): 8,448 bytes for 4,200, but 63,832 for a run of
 *   63,000. The ratio is taken from what was read last, whose charge follows from how the kernel allocates (seen on
 *   loopback and veth; drivers of network cards allocate in pages, which comes to about the same).
 * - A reader takes over the whole queue at once, and the charge of that stays until the last datagram of it has been
 *   read, or a quarter of the buffer. So what has been read since is subtracted here. The kernel does not say when it
 *   starts again: it shows by a charge that has become smaller, or by everything taken over having been read.
 */
export class KernelQueue {
  readonly #releaseBytes: number
  /** Read since the last sample: payload bytes, and what they were charged. */
  #payload = 0
  #charge = 0
  #payloadOfCharge = 1 / 2
  /**
   * At the last sample: the socket's charge, how much of it had been taken over by then, and how much of that had
   * been read.
   */
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

  /** Payload bytes that wait. @param charged what the socket is charged now, bytes (UdpSocket.receiveMemoryBytes) */
  sample(charged: number): number {
    if (this.#charge > 0) this.#payloadOfCharge = this.#payload / this.#charge
    const read = this.#read + this.#charge
    if (charged < this.#charged || read >= Math.min(this.#takenOver, this.#releaseBytes)) {
      // The kernel has given back, and taken the queue over anew: what was read of the new one is at most what
      // exceeds the old one.
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
