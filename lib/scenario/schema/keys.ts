/** What every key of a scenario file says of itself: what it means, what holds without it, and an example. */
import * as z from 'zod'

export interface KeyDoc {
  /** A sentence or more, for the reference page and for editors. */
  description: string
  /** Value that has the same effect as leaving the key out. */
  default?: unknown
  /** What holds without the key, in words, where no value says it. Absent as `default` is: the key is required. */
  usual?: string
  /** A value. */
  example: unknown
  /** Keys beside it without which the example is refused. */
  with?: Readonly<Record<string, unknown>>
}

/** A key whose value is a field. */
export function key<T extends z.ZodType>(field: T, doc: KeyDoc): z.ZodOptional<T> {
  return field.meta({ ...doc }).optional()
}

/** The same of one that a mapping cannot do without. */
export function requiredKey<T extends z.ZodType>(field: T, doc: Omit<KeyDoc, 'default' | 'usual'>): T {
  return field.meta({ ...doc })
}

const parts = new WeakSet<z.ZodType>()

/**
 * A key whose value is a mapping or a list of its own. `checkShape` hands that on as it is: whoever resolves it checks it, so
 * that one mistake does not hide the others.
 */
export function part(value: z.ZodType, doc: KeyDoc): z.ZodType<unknown> {
  const schema = value.meta({ ...value.meta(), ...doc }).optional()
  parts.add(schema)
  return schema
}

/** The same of one that a mapping cannot do without. */
export function requiredPart(value: z.ZodType, doc: Omit<KeyDoc, 'default' | 'usual'>): z.ZodType<unknown> {
  const schema = value.meta({ ...value.meta(), ...doc })
  parts.add(schema)
  return schema
}

export function isPart(schema: z.ZodType): boolean {
  return parts.has(schema)
}

/** What a mapping says of itself. */
export interface MappingDoc {
  /** How the reference page and messages call it, with its article: "a link". */
  title: string
  /** Text of the reference page before its keys. */
  about?: string
  /** What JSON Schema can say beyond the keys one by one. */
  json?: Readonly<Record<string, unknown>>
}

/** A mapping with these keys and no others. */
export function mapping<T extends z.ZodRawShape>(doc: MappingDoc, shape: T) {
  return z.strictObject(shape).meta({ ...doc })
}
