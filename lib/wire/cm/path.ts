/**
 * One path of a REQ: 44 bytes, the primary at M+76 and the alternate at M+120 (IBA 12.6.5).
 *
 *     0 local LID | 2 remote LID | 4 local GID (16) | 20 remote GID (16)
 *     36 flow label:20, reserved:6, packet rate:6 | 40 traffic class | 41 hop limit
 *     42 SL:4, subnet local:1, reserved:3 | 43 local ACK timeout:5, reserved:3
 */
import { bytes, setBytes } from './fields.js'

export interface Path {
  /** 0xffff with RoCE, which has no LIDs. */
  localLid: number
  remoteLid: number
  /** 16 bytes; an IPv4 address is ::ffff:a.b.c.d. */
  localGid: Uint8Array
  remoteGid: Uint8Array
  /** 20 bits. */
  flowLabel: number
  /** 6 bits, the code of an InfiniBand static rate. */
  packetRate: number
  trafficClass: number
  hopLimit: number
  /** Service level, 4 bits. */
  serviceLevel: number
  subnetLocal: boolean
  /** 5 bits: 4.096 us * 2^n. */
  localAckTimeout: number
}

/** Returns an absent path: all zeros. */
export function none(): Path {
  return {
    localLid: 0,
    remoteLid: 0,
    localGid: new Uint8Array(16),
    remoteGid: new Uint8Array(16),
    flowLabel: 0,
    packetRate: 0,
    trafficClass: 0,
    hopLimit: 0,
    serviceLevel: 0,
    subnetLocal: false,
    localAckTimeout: 0,
  }
}

export function read(view: DataView, at: number): Path {
  const flow = view.getUint32(at + 36)
  const service = view.getUint8(at + 42)
  return {
    localLid: view.getUint16(at),
    remoteLid: view.getUint16(at + 2),
    localGid: bytes(view, at + 4, 16),
    remoteGid: bytes(view, at + 20, 16),
    flowLabel: flow >>> 12,
    packetRate: flow & 0x3f,
    trafficClass: view.getUint8(at + 40),
    hopLimit: view.getUint8(at + 41),
    serviceLevel: service >>> 4,
    subnetLocal: (service & 0x08) !== 0,
    localAckTimeout: view.getUint8(at + 43) >>> 3,
  }
}

export function write(view: DataView, at: number, path: Path): void {
  view.setUint16(at, path.localLid)
  view.setUint16(at + 2, path.remoteLid)
  setBytes(view, at + 4, 16, path.localGid)
  setBytes(view, at + 20, 16, path.remoteGid)
  view.setUint32(at + 36, ((path.flowLabel << 12) | (path.packetRate & 0x3f)) >>> 0)
  view.setUint8(at + 40, path.trafficClass)
  view.setUint8(at + 41, path.hopLimit)
  view.setUint8(at + 42, (path.serviceLevel << 4) | (path.subnetLocal ? 0x08 : 0))
  view.setUint8(at + 43, path.localAckTimeout << 3)
}
