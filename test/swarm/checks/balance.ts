/** Checks that each frame has come to an end that a counter shows. */
import type { Fail } from './fail.js'

/** Frames, in the whole network. */
interface FrameCounts {
  /** Sent by hosts, made by switches, copied or forged on links. */
  sent: number
  made: number
  copied: number
  /** Received by hosts, taken in by switches (PFC), dropped by switches, lost on links, sent by a port without one. */
  received: number
  consumed: number
  dropped: number
  lost: number
  unplugged: number
}

export function checkBalance(counts: FrameCounts, fail: Fail): void {
  const { sent, made, copied, received, consumed, dropped, lost, unplugged } = counts
  const begun = sent + made + copied
  const ended = received + consumed + dropped + lost + unplugged
  if (begun !== ended)
    fail(`${begun} frames were sent or made, ${ended} received or dropped: ${JSON.stringify(counts)}`)
}

/** Frames of all switches. */
interface SwitchCounts {
  received: number
  made: number
  sent: number
  consumed: number
  drops: number
}

/** Nothing waits in a switch any more. */
export function checkSwitches(counts: SwitchCounts, fail: Fail): void {
  const { received, made, sent, consumed, drops } = counts
  if (received + made !== sent + consumed + drops) fail(`switches: ${JSON.stringify(counts)} does not add up`)
}

/** A NIC counts the frames that it got and sent. */
export function checkNic(
  counted: { rx: number; control: number; tx: number },
  handed: number,
  sent: number,
  fail: Fail,
): void {
  if (counted.tx !== sent) fail(`a NIC counts ${counted.tx} frames sent, not ${sent}`)
  const received = counted.rx + counted.control
  if (received !== handed) fail(`a NIC counts ${received} frames received, not ${handed}`)
}

/** All frames are back. */
export function checkPool(inUse: number, fail: Fail): void {
  if (inUse !== 0) fail(`${inUse} frames have not been given back`)
}
