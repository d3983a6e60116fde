/** Builds capture files from their fields. */

export type Order = 'LE' | 'BE'

/** Appends numbers in one byte order. */
export class Bytes {
  readonly order: Order
  readonly parts: Buffer[] = []

  constructor(order: Order) {
    this.order = order
  }

  u16(value: number): this {
    const part = Buffer.alloc(2)
    if (this.order === 'LE') part.writeUInt16LE(value)
    else part.writeUInt16BE(value)
    return this.#add(part)
  }

  u32(value: number): this {
    const part = Buffer.alloc(4)
    if (this.order === 'LE') part.writeUInt32LE(value)
    else part.writeUInt32BE(value)
    return this.#add(part)
  }

  u64(value: bigint): this {
    const part = Buffer.alloc(8)
    if (this.order === 'LE') part.writeBigInt64LE(value)
    else part.writeBigInt64BE(value)
    return this.#add(part)
  }

  hex(text: string): this {
    return this.#add(Buffer.from(text, 'hex'))
  }

  build(): Buffer {
    return Buffer.concat(this.parts)
  }

  #add(part: Buffer): this {
    this.parts.push(part)
    return this
  }
}

/** Records are [seconds, fraction, bytes in hex, length on the wire]. */
export function pcapFile(
  order: Order,
  magic: number,
  records: [number, number, string, number][],
  linkType = 1,
): Buffer {
  const file = new Bytes(order).u32(magic).u16(2).u16(4).u32(0).u32(0).u32(262_144).u32(linkType)
  for (const [seconds, fraction, hex, wireBytes] of records) {
    file
      .u32(seconds)
      .u32(fraction)
      .u32(hex.length / 2)
      .u32(wireBytes)
      .hex(hex)
  }
  return file.build()
}

export function pcapngBlock(order: Order, type: number, body: Bytes): Buffer {
  const bytes = body.build()
  const length = bytes.length + 12
  return new Bytes(order).u32(type).u32(length).hex(bytes.toString('hex')).u32(length).build()
}

export function pcapngSection(order: Order): Buffer {
  return pcapngBlock(order, 0x0a0d0d0a, new Bytes(order).u32(0x1a2b3c4d).u16(1).u16(0).u64(-1n))
}

export function pcapngInterface(order: Order, linkType: number, snapBytes: number, options?: Bytes): Buffer {
  const body = new Bytes(order).u16(linkType).u16(0).u32(snapBytes)
  if (options !== undefined) body.hex(options.build().toString('hex'))
  return pcapngBlock(order, 1, body)
}

/** @param claimed captured length in the block, if it differs from the actual one */
export function pcapngPacket(
  order: Order,
  from: number,
  ticks: bigint,
  hex: string,
  wireBytes: number,
  claimed = hex.length / 2,
): Buffer {
  const body = new Bytes(order)
    .u32(from)
    .u32(Number(ticks >> 32n))
    .u32(Number(ticks & 0xffff_ffffn))
    .u32(claimed)
    .u32(wireBytes)
    .hex(hex.padEnd(Math.ceil(hex.length / 8) * 8, '0'))
  return pcapngBlock(order, 6, body)
}
