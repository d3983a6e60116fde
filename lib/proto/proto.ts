/**
 * The message types of the .proto files: they are the contract, so that what is documented is what is spoken. The build writes
 * them as JSON (bin/compile-proto.ts), which is read at run time.
 */
import { readFileSync } from 'node:fs'
import protobuf from 'protobufjs/light.js'
import { WeirError } from '../errors.js'
import { packageFile } from '../package-file.js'
import { TextFields } from './text-fields.js'

const roots = new Map<string, protobuf.Root>()

/** The message type `typeName` (fully qualified) of `proto/<file>`; files are read once a process. */
export function messageType(file: string, typeName: string): protobuf.Type {
  let root = roots.get(file)
  if (!root) {
    const contract = readFileSync(packageFile('dist', 'proto', `${file}.json`), 'utf8')
    root = protobuf.Root.fromJSON(JSON.parse(contract) as protobuf.INamespace)
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

  /** Names of the fields of a message within this one. */
  fieldsOf(name: keyof T & string): readonly string[] {
    const { resolvedType } = this.#type.fields[name]!.resolve()
    return Object.keys((resolvedType as protobuf.Type).fields)
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
