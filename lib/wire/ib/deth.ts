/** Datagram Extended Transport Header (IBA 9.3.2): Q_Key and the sender's QP, big-endian. */
export const BYTES = 8

/** Q_Key of QP 1, to which management datagrams are sent. */
export const QKEY_GSI = 0x8001_0000
/** The general services interface, for connection management. */
export const QPN_GSI = 1
/** The first queue pair of applications: 0 and 1 are for management. */
export const QPN_FIRST = 2

const QKEY = 0
const SOURCE_QPN = 4

export function qkey(view: DataView, at: number): number {
  return view.getUint32(at + QKEY)
}

/** 24 bits. */
export function sourceQpn(view: DataView, at: number): number {
  return view.getUint32(at + SOURCE_QPN) & 0xffffff
}

export function write(view: DataView, at: number, key: number, fromQpn: number): void {
  view.setUint32(at + QKEY, key)
  view.setUint32(at + SOURCE_QPN, fromQpn & 0xffffff)
}

export function print(view: DataView, at: number): string {
  return `qkey 0x${qkey(view, at).toString(16)} from-qp 0x${sourceQpn(view, at).toString(16)}`
}
