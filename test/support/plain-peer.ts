/**
 * A host that is no Weir host: a plain librdmacm peer with go-back-N. Its connection manager's datagrams
 * contain nothing of Weir's, and it does not get what others add.
 */
import * as weirData from '../../lib/cm/weir-private-data.js'
import type { Frame } from '../../lib/frame/frame.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as deth from '../../lib/wire/ib/deth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'

const MAGIC = 'WEIR'

/** Leaves only the application's private data. */
export function takeWordsOut(frame: Frame): void {
  if (frame.bth < 0 || bth.destQpn(frame.view, frame.bth) !== deth.QPN_GSI) return
  const { bytes, bth: from, length } = frame
  const at = bytes.subarray(0, length).indexOf(MAGIC, from, 'latin1')
  // A damaged frame remains damaged.
  if (at < 0 || !icrc.verify(frame)) return
  const spoken = bytes.subarray(at, length)
  const said = weirData.decode(spoken)
  const data = said === null || said === 'malformed' ? Buffer.alloc(0) : Buffer.from(said.applicationData)
  spoken.fill(0, 0, MAGIC.length + 1 + spoken[MAGIC.length]!)
  spoken.set(data)
  icrc.write(frame)
}
