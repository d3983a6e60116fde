import type { Frame } from '../../frame/frame.js'
import type { HostAddress } from './address.js'
import * as ipv4 from './ipv4.js'

/** True for IPv4, else a parsed frame is of IPv6. */
export function isIpv4(frame: Frame): boolean {
  return ipv4.version(frame.view, frame.l3) === 4
}

/** The source address of a parsed frame is that one. */
export function comesFrom(frame: Frame, remote: HostAddress): boolean {
  if (isIpv4(frame)) return remote.family === 4 && ipv4.source(frame.view, frame.l3) === remote.ipv4
  return remote.family === 6 && sameGid(frame, frame.l3 + 8, remote.gid)
}

/** The 16 bytes at `at` are that address. */
export function sameGid(frame: Frame, at: number, gid: Uint8Array): boolean {
  for (let i = 0; i < 16; i++) if (frame.bytes[at + i] !== gid[i]) return false
  return true
}
