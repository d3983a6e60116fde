/** Invalidate Extended Transport Header (IBA 9.3.7): the R_Key that SEND with invalidate revokes. */
export const BYTES = 4

export function rkey(view: DataView, at: number): number {
  return view.getUint32(at)
}

export function setRkey(view: DataView, at: number, value: number): void {
  view.setUint32(at, value)
}

export function write(view: DataView, at: number, key: number): void {
  view.setUint32(at, key)
}

export function print(view: DataView, at: number): string {
  return `invalidate rkey 0x${rkey(view, at).toString(16)}`
}
