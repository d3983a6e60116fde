/**
 * The messages of the connection manager together: which one a datagram is, whether it is valid, and a
 * printed line.
 */
import * as drep from './drep.js'
import * as dreq from './dreq.js'
import { Attribute } from './fields.js'
import * as mad from './mad.js'
import { MadFault } from './mad.js'
import * as mra from './mra.js'
import * as rej from './rej.js'
import * as rep from './rep.js'
import * as req from './req.js'
import * as rtu from './rtu.js'
import * as sidrRep from './sidr-rep.js'
import * as sidrReq from './sidr-req.js'

export { Attribute, localCommId, MessageKind, remoteCommId } from './fields.js'

const NAMES = new Map<number, string>(Object.entries(Attribute).map(([name, id]) => [id, name]))

const PRINTERS = new Map<number, (view: DataView, at: number) => string>([
  [Attribute.REQ, req.print],
  [Attribute.MRA, mra.print],
  [Attribute.REJ, rej.print],
  [Attribute.REP, rep.print],
  [Attribute.RTU, rtu.print],
  [Attribute.DREQ, dreq.print],
  [Attribute.DREP, drep.print],
  [Attribute.SIDR_REQ, sidrReq.print],
  [Attribute.SIDR_REP, sidrRep.print],
])

/** Returns `REQ`, `REP`…, or `attribute 0x0019` for one that Weir does not use (LAP, APR). */
export function attributeName(attribute: number): string {
  return NAMES.get(attribute) ?? `attribute 0x${attribute.toString(16).padStart(4, '0')}`
}

/** Checks whether bytes `at` to `end` are one of the nine messages. If they are, every field can be read. */
export function check(view: DataView, at: number, end: number): MadFault {
  const fault = mad.check(view, at, end)
  if (fault !== MadFault.NONE) return fault
  return NAMES.has(mad.attributeId(view, at)) ? MadFault.NONE : MadFault.ATTRIBUTE
}

/**
 * Prints one line: the message's fields, or the common header of any other management datagram, or the fault.
 */
export function print(view: DataView, at: number, end: number): string {
  const fault = check(view, at, end)
  if (fault === MadFault.NONE) return PRINTERS.get(mad.attributeId(view, at))!(view, at)
  if (fault === MadFault.LENGTH) return `MAD malformed: ${end - at} bytes`
  return `${mad.print(view, at)} (${mad.MAD_FAULT_NAMES[fault]} not spoken here)`
}
