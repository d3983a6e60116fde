/** Fields of `bytes` that hold names of files: in messages as objects they are text (lib/byte-text.ts). */
import protobuf from 'protobufjs/light.js'
import { bytesOf, textOf } from '../byte-text.js'

type Message = Record<string, unknown>

/** What is to be converted in messages of one type. */
export class TextFields {
  readonly #texts: string[] = []
  /** Fields that hold other messages with such fields. */
  readonly #children: [name: string, fields: TextFields][] = []

  /** @param names as in `Offer.name`: of the type itself, or of those within it */
  constructor(type: protobuf.Type, names: ReadonlySet<string>) {
    for (const field of type.fieldsArray) {
      const { name, resolvedType } = field.resolve()
      if (names.has(`${type.name}.${name}`)) this.#texts.push(name)
      if (!(resolvedType instanceof protobuf.Type)) continue
      const child = new TextFields(resolvedType, names)
      if (!child.#isEmpty) this.#children.push([name, child])
    }
  }

  /** A copy with bytes for texts. */
  toBytes(message: object): object {
    return this.#converted(message as Message, text => bytesOf(String(text)))
  }

  /** A copy with texts for bytes. */
  toTexts(message: object): object {
    return this.#converted(message as Message, bytes => textOf(bytes as Uint8Array))
  }

  get #isEmpty(): boolean {
    return this.#texts.length === 0 && this.#children.length === 0
  }

  #converted(message: Message, convert: (value: unknown) => unknown): Message {
    if (this.#isEmpty) return message
    const copy = { ...message }
    for (const name of this.#texts) {
      const value = copy[name]
      if (Array.isArray(value)) copy[name] = value.map(convert)
      else if (value !== undefined) copy[name] = convert(value)
    }
    for (const [name, child] of this.#children) {
      const value = copy[name]
      if (Array.isArray(value)) copy[name] = value.map(one => child.#converted(one, convert))
      else if (value) copy[name] = child.#converted(value as Message, convert)
    }
    return copy
  }
}
