/**
 * Numbers for fields that will hold times, rates or shares. V8 keeps a small whole number in the field, and any other number in an
 * object that the field refers to. Where a field changes from the one to the other, the objects of its class change their hidden class,
 * and the code that V8 has compiled for them is dropped. So such a field begins with a number of the second kind: docs/measured/v8.md says what
 * that saves a run in virtual time.
 */

/** Returns the same number, as V8 keeps numbers that are not small or not whole. */
export function double(value: number): number {
  return Float64Array.of(value)[0]!
}

export const DOUBLE_0 = double(0)
export const DOUBLE_1 = double(1)
