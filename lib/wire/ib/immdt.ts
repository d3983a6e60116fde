/** Immediate Data Extended Transport Header (IBA 9.3.6): 4 bytes that travel into the completion. */
export const BYTES = 4

export function immediate(view: DataView, at: number): number {
  return view.getUint32(at)
}

export function write(view: DataView, at: number, value: number): void {
  view.setUint32(at, value)
}

export function print(view: DataView, at: number): string {
  return `imm 0x${immediate(view, at).toString(16)}`
}
