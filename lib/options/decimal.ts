/** Numbers as people type them: decimal digits, with a point where there is one. `1e3` and `0x10` are more often mistakes than meant. */
const DECIMAL = /^-?(?:\d+(?:\.\d+)?|\.\d+)$/
const WHOLE = /^\d+$/
const EXPONENT = /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/

/** The number, or NaN for a text in another form. An empty text is not 0. @param whole only digits will do */
export function readDecimal(text: string, whole = false): number {
  return (whole ? WHOLE : DECIMAL).test(text) ? Number(text) : Number.NaN
}

/** The number as `readDecimal` reads it: 1e-7 is written as 0.0000001. */
export function decimalText(value: number): string {
  const text = String(value)
  const [, sign = '', before = '', after = '', exponent] = EXPONENT.exec(text) ?? []
  if (exponent === undefined) return text
  const digits = before + after
  const point = before.length + Number(exponent)
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`
  if (point >= digits.length) return `${sign}${digits}${'0'.repeat(point - digits.length)}`
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
}

/** What a number in another form is in digits, for messages: `: write it in decimal digits, as 1000`; empty where it is no number. */
export function decimalHint(text: string, fits: (value: number) => boolean): string {
  const value = text.trim() === '' || DECIMAL.test(text) ? Number.NaN : Number(text)
  return fits(value) ? `: write it in decimal digits, as ${decimalText(value)}` : ''
}
