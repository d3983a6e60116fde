/**
 * Finds and loads the .proto files of the package: they are the contract, read at run time by reflection, so
 * that what is documented is what is spoken.
 */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import protobuf from 'protobufjs'
import { WeirError } from '../errors.js'
import { TextFields } from './text-fields.js'

/** Folder of the .proto files: `proto` beside the nearest package.json above this file. */
export function protoFolder(): string {
  const from = dirname(fileURLToPath(import.meta.url))
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json')) && existsSync(join(folder, 'proto')))
      return join(folder, 'proto')
    if (dirname(folder) === folder) break
  }
  throw new WeirError(
    'WEIR_INTERNAL',
    `no folder "proto" beside a package.json above ${from}: reinstall weir`,
  )
}

const roots = new Map<string, protobuf.Root>()

/** The message type `typeName` (fully qualified) of `proto/<file>`; files are parsed once a process. */
export function messageType(file: string, typeName: string): protobuf.Type {
  let root = roots.get(file)
  if (!root) {
    root = new protobuf.Root().loadSync(join(protoFolder(), file), { keepCase: false })
    roots.set(file, root)
  }
  return root.lookupType(typeName)
}

/**
 * Encoding and decoding of one message type with plain objects: 64-bit integers as numbers, enums as their
 * names, all fields present.
 */
export class MessageCodec<T extends object> {
  readonly #type: protobuf.Type
  readonly #bytesMax: number

  readonly #texts: TextFields

  /**
   * @param bytesMax longest encoding that is written or read
   * @param names fields of bytes that hold names of files, as in `Offer.name`: text in the objects
   */
  constructor(type: protobuf.Type, bytesMax: number, names: readonly string[] = []) {
    this.#type = type
    this.#bytesMax = bytesMax
    this.#texts = new TextFields(type, new Set(names))
  }

  /** Throws WEIR_PROTOCOL when the message is too long or does not fit its contract. */
  encode(message: Partial<T>): Uint8Array {
    const encoded = this.#type.encode(this.#type.fromObject(this.#texts.toBytes(message))).finish()
    if (encoded.length > this.#bytesMax) {
      throw new WeirError(
        'WEIR_PROTOCOL',
        `a ${this.#type.name} of ${encoded.length} bytes is too long, ${this.#bytesMax} is the most`,
      )
    }
    return encoded
  }

  /** Throws WEIR_PROTOCOL when the bytes are not such a message. */
  decode(bytes: Uint8Array): T {
    if (bytes.length > this.#bytesMax) {
      throw new WeirError('WEIR_PROTOCOL', `a ${this.#type.name} of ${bytes.length} bytes is too long`)
    }
    try {
      const message = this.#type.decode(bytes)
      const object = this.#type.toObject(message, {
        longs: Number,
        enums: String,
        defaults: true,
        oneofs: true,
        objects: true,
      })
      return this.#texts.toTexts(object) as T
    } catch (cause) {
      throw new WeirError('WEIR_PROTOCOL', `malformed ${this.#type.name}: ${(cause as Error).message}`, {
        cause,
      })
    }
  }
}
