/** Documentation of each key of a scenario file: its meaning, its default and an example. */
import * as z from 'zod'

export interface KeyDoc {
  /** One or more sentences, for the reference page and for editors. */
  description: string
  /** The value that has the same effect as leaving the key out. */
  default?: unknown
  /** The default in words, where no value expresses it. If `default` is absent too, the key is required. */
  usual?: string
  /** An example value. */
  example: unknown
  /** Other keys that the example needs. */
  with?: Readonly<Record<string, unknown>>
}

/** A key whose value is a field. */
export function key<T extends z.ZodType>(field: T, doc: KeyDoc): z.ZodOptional<T> {
  return field.meta({ ...doc }).optional()
}

/** The same for a required key. */
export function requiredKey<T extends z.ZodType>(field: T, doc: Omit<KeyDoc, 'default' | 'usual'>): T {
  return field.meta({ ...doc })
}

const parts = new WeakSet<z.ZodType>()

/**
 * A key whose value is a mapping or a list. `checkShape` returns it unchecked, and the code that resolves it
 * checks it, so that one mistake does not hide the others.
 */
export function part(value: z.ZodType, doc: KeyDoc): z.ZodType<unknown> {
  const schema = value.meta({ ...value.meta(), ...doc }).optional()
  parts.add(schema)
  return schema
}

/** The same for a required key. */
export function requiredPart(value: z.ZodType, doc: Omit<KeyDoc, 'default' | 'usual'>): z.ZodType<unknown> {
  const schema = value.meta({ ...value.meta(), ...doc })
  parts.add(schema)
  return schema
}

export function isPart(schema: z.ZodType): boolean {
  return parts.has(schema)
}

/** Documentation of a mapping. */
export interface MappingDoc {
  /** Name on the reference page and in messages, with its article: "a link". */
  title: string
  /** Text on the reference page before the keys. */
  about?: string
  /** JSON Schema in addition to the single keys. */
  json?: Readonly<Record<string, unknown>>
}

/** A mapping that allows these keys and no others. */
export function mapping<T extends z.ZodRawShape>(doc: MappingDoc, shape: T) {
  return z.strictObject(shape).meta({ ...doc })
}
