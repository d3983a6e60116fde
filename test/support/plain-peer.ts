/**
 * A host that is no weir: a plain librdmacm peer with go-back-N. Its connection manager's datagrams say nothing in Weir's words, and
 * what others say in them does not reach it.
 */
import * as weirData from '../../lib/cm/weir-private-data.js'
import type { Frame } from '../../lib/frame/frame.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as deth from '../../lib/wire/ib/deth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'

const MAGIC = 'WEIR'

/** Leaves of private data what the application has said. */
export function takeWordsOut(frame: Frame): void {
  if (frame.bth < 0 || bth.destQpn(frame.view, frame.bth) !== deth.QPN_GSI) return
  const { bytes, bth: from, length } = frame
  const at = bytes.subarray(0, length).indexOf(MAGIC, from, 'latin1')
  // What was damaged on the way stays so.
  if (at < 0 || !icrc.verify(frame)) return
  const spoken = bytes.subarray(at, length)
  const said = weirData.decode(spoken)
  const data = said === null || said === 'malformed' ? Buffer.alloc(0) : Buffer.from(said.applicationData)
  spoken.fill(0, 0, MAGIC.length + 1 + spoken[MAGIC.length]!)
  spoken.set(data)
  icrc.write(frame)
}
