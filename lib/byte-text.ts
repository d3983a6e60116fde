/**
 * Names of files as text. Linux takes any bytes for a name; nearly all are UTF-8. Each byte that is not is kept as a lone surrogate,
 * U+DC80 to U+DCFF (Python calls this surrogateescape, PEP 383). So a name is a string everywhere, and gives the same bytes back.
 */
import { isUtf8 } from 'node:buffer'

const ESCAPES = 0xdc00
const ESCAPED = /[\udc80-\udcff]/u

/** The name that those bytes are. */
export function textOf(bytes: Uint8Array): string {
  if (isUtf8(bytes)) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()
  let text = ''
  for (let at = 0; at < bytes.length; ) {
    const length = characterBytes(bytes, at)
    if (length === 0) text += String.fromCharCode(ESCAPES + bytes[at++]!)
    else {
      text += Buffer.from(bytes.subarray(at, at + length)).toString()
      at += length
    }
  }
  return text
}

/** The bytes of a name. */
export function bytesOf(text: string): Buffer {
  if (!ESCAPED.test(text)) return Buffer.from(text)
  const pieces = [...text].map(character =>
    ESCAPED.test(character) ? Buffer.of(character.charCodeAt(0) - ESCAPES) : Buffer.from(character),
  )
  return Buffer.concat(pieces)
}

/** How many bytes a name has. */
export function byteLengthOf(text: string): number {
  return ESCAPED.test(text) ? bytesOf(text).length : Buffer.byteLength(text)
}

/** A path as the functions of node:fs want it. */
export function fsPath(path: string): string | Buffer {
  return ESCAPED.test(path) ? bytesOf(path) : path
}

/** `text` with `\xNN` for each byte that is no UTF-8, for people. */
export function showBytes(text: string): string {
  return text.replace(/[\udc80-\udcff]/gu, byte => `\\x${(byte.charCodeAt(0) - ESCAPES).toString(16)}`)
}

/** Bytes of the character of UTF-8 that begins at `at`; 0 if none does. */
function characterBytes(bytes: Uint8Array, at: number): number {
  for (let length = 1; length <= 4 && at + length <= bytes.length; length++) {
    if (isUtf8(bytes.subarray(at, at + length))) return length
  }
  return 0
}
