import { showBytes } from './byte-text.js'

/** Longer texts are cut: what is shown may come from elsewhere. */
const TEXT_MAX = 500

/** `text` as it may travel and be printed: at most 500 characters, none that steers a terminal; '?' is in its place. Bytes of a name that are no UTF-8 are shown as \xNN. */
export function printable(text: string): string {
  return showBytes(text)
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '?')
    .slice(0, TEXT_MAX)
}
