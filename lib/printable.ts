/** Longer texts are cut: what is shown may come from elsewhere. */
const TEXT_MAX = 500

/** `text` as it may travel and be printed: at most 500 characters, none that steers a terminal; '?' is in its place. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?').slice(0, TEXT_MAX)
}
