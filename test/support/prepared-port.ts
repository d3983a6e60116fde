import type { PreparedHeaders } from '../../lib/frame/prepared-headers.js'

/** UDP source port of prepared headers over IPv4: bytes 34 and 35. */
export function preparedPort({ words }: PreparedHeaders): number {
  return words[8]! & 0xffff
}
