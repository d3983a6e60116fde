import { WeirError } from '../../errors.js'
import { type Libc, loadLibc } from './libc.js'

const SOL_SOCKET = 1
const SO_ATTACH_FILTER = 26
/** `struct sock_filter`. */
const INSTRUCTION_BYTES = 8
/** `struct sock_fprog`: number of instructions, and pointer to them. */
const PROGRAM_BYTES = 16

/** One instruction of classic BPF, `struct sock_filter` of linux/filter.h. */
export interface FilterInstruction {
  code: number
  /** Instructions to skip when a test holds. */
  jt: number
  /** Instructions to skip when it does not. */
  jf: number
  k: number
}

/** Makes the kernel drop packets for which the program returns 0. Throws WEIR_UNSUPPORTED. */
export function attachFilter(fd: number, program: readonly FilterInstruction[]): void {
  const libc: Libc = loadLibc()
  const code = new Uint8Array(program.length * INSTRUCTION_BYTES)
  const view = new DataView(code.buffer)
  for (const [i, { code: operation, jt, jf, k }] of program.entries()) {
    const at = i * INSTRUCTION_BYTES
    view.setUint16(at, operation, true)
    view.setUint8(at + 2, jt)
    view.setUint8(at + 3, jf)
    view.setUint32(at + 4, k >>> 0, true)
  }
  const header = new Uint8Array(PROGRAM_BYTES)
  const headerView = new DataView(header.buffer)
  headerView.setUint16(0, program.length, true)
  headerView.setBigUint64(8, BigInt(libc.address(code)), true)
  if (libc.setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, header, PROGRAM_BYTES) === 0) return
  throw new WeirError('WEIR_UNSUPPORTED', `SO_ATTACH_FILTER: error ${libc.errno()}`)
}
