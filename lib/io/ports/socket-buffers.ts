/** How much the kernel is asked to keep for a socket. It doubles that, and uses only what waits. */
import { totalmem } from 'node:os'

export const SOCKET_BUFFER_BYTES = 8 << 20

/** A socket that receives for many connections asks for this share of the memory, within bounds. */
const MEMORY_SHARE = 1 / 128
const RECEIVE_BUFFER_MAX = 32 << 20

/** @param memoryBytes what the process may have. Default: the machine's memory, or less where its control group has less */
export function receiveBufferBytes(memoryBytes: number = memoryOfProcess()): number {
  const bytes = Math.floor(memoryBytes * MEMORY_SHARE)
  return Math.min(RECEIVE_BUFFER_MAX, Math.max(SOCKET_BUFFER_BYTES, bytes))
}

function memoryOfProcess(): number {
  // 0, or more than there is, where nothing constrains it.
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}
