/** A third party: it sends what it likes to host `a` of a pair, from an address of its own or from one that it forges. */
import { type ConnectParameters, decode, encode } from '../../lib/cm/weir-private-data.js'
import type { Frame } from '../../lib/frame/frame.js'
import type { Nic } from '../../lib/nic/nic.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { Attribute } from '../../lib/wire/cm/cm-messages.js'
import * as mad from '../../lib/wire/cm/mad.js'
import * as rep from '../../lib/wire/cm/rep.js'
import * as req from '../../lib/wire/cm/req.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import type { HostAddress } from '../../lib/wire/net/address.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import { parseFrame } from '../../lib/wire/parse.js'
import { writeMessage } from '../cm/script.js'
import { type App, memoryOf, type Pair, pattern } from '../nic/pair.js'

/** What can be known about a connection from `a` to `b`: the contents of REQ and REP. */
export interface Knowledge {
  aId: number
  bId: number
  aQpn: number
  bQpn: number
  bGuid: bigint
  /** First PSN that `b` sends with. */
  bPsn: number
}

const MAD_AT = 14 + 20 + 8 + 12 + 8
/** The datagrams of a handshake, as they passed. */
export class Wiretap {
  /** The bytes of the last frame of either host, by its name: `>REQ`, `<REP`. */
  readonly frames = new Map<string, Uint8Array>()

  constructor(pair: Pair) {
    const { watch } = pair.tap
    pair.tap.watch = (frame, now, fromA) => {
      const { length } = pair.passed
      const goesOn = watch(frame, now, fromA)
      const name = pair.passed[length]
      if (name !== undefined) this.frames.set(name, Uint8Array.from(frame.bytes.subarray(0, frame.length)))
      return goesOn
    }
  }

  get knowledge(): Knowledge {
    const viewOf = (name: string) => {
      const bytes = this.frames.get(name)!
      return new DataView(bytes.buffer, bytes.byteOffset + MAD_AT, mad.BYTES)
    }
    const asked = req.read(viewOf('>REQ'), 0)
    const answer = rep.read(viewOf('<REP'), 0)
    return {
      aId: asked.localCommId,
      bId: answer.localCommId,
      aQpn: asked.localQpn,
      bQpn: answer.localQpn,
      bGuid: answer.localCaGuid,
      bPsn: asked.startingPsn,
    }
  }
}

/**
 * Sends a frame like `template` to `to`: with `change`, with the source address `from` if one is given, and
 * with a right ICRC.
 */
export function send(
  pair: Pair,
  to: Nic,
  template: Uint8Array,
  change: (frame: Frame) => void,
  from?: HostAddress,
): void {
  const frame = pair.pool.take()!
  frame.bytes.set(template)
  frame.length = template.length
  frame.wireLength = template.length
  parseFrame(frame)
  if (from !== undefined) {
    frame.bytes.set(from.gid.subarray(12), frame.l3 + 12)
    ipv4.updateChecksum(frame.view, frame.l3)
  }
  change(frame)
  if (frame.bth >= 0) icrc.write(frame)
  frame.l3 = -1
  to.onFrame(pair.network.now, 0, frame)
}

/**
 * Sends a message of the connection manager to `a`.
 * @param kind REQ, REP, RTU, REJ, MRA, DREQ or DREP; @param ids the sender's communication id and `a`'s
 * @param fields as of `writeMessage`; @param from the source address: forged, or the sender's own
 */
export function sendMessage(
  pair: Pair,
  tap: Wiretap,
  kind: string,
  ids: [number, number],
  fields: Record<string, number>,
  from: HostAddress,
  guid = 0n,
  words: Uint8Array = new Uint8Array(0),
): void {
  const template = tap.frames.get('<REP')!
  const change = (frame: Frame) => {
    const view = new DataView(frame.bytes.buffer, frame.bytes.byteOffset + frame.payload, mad.BYTES)
    frame.bytes.fill(0, frame.payload, frame.payload + mad.BYTES)
    writeMessage(view, kind, ids[0], ids[1], 0x77n, (key, otherwise) => fields[key] ?? otherwise)
    setGuid(view, guid)
    // A REQ names the address that it comes from, or it is dropped at once.
    if (kind === 'REQ') frame.bytes.set(from.gid, frame.payload + PRIMARY_LOCAL_GID)
    frame.bytes.set(words, frame.payload + WORDS_AT[kind]!)
  }
  send(pair, pair.a, template, change, from)
}

/** Where a message has GIDs and GUIDs of 64 bits, which `writeMessage` takes as numbers. */
const PRIMARY_LOCAL_GID = 80
const REQ_GUID = 40
const REP_GUID = 52
const REJ_GUID = 36

function setGuid(view: DataView, guid: bigint): void {
  const attribute = mad.attributeId(view, 0)
  if (attribute === Attribute.REQ) view.setBigUint64(REQ_GUID, guid)
  if (attribute === Attribute.REP) view.setBigUint64(REP_GUID, guid)
  if (attribute === Attribute.REJ) view.setBigUint64(REJ_GUID, guid)
}

/** Says something else in a REQ or REP of a Weir host, with a right ICRC. */
export function say(frame: Frame, change: (said: ConnectParameters) => ConnectParameters): void {
  const at = frame.bytes.subarray(0, frame.length).indexOf('WEIR', frame.l4, 'latin1')
  const spoken = frame.bytes.subarray(at, frame.length - icrc.BYTES)
  const words = encode(change(decode(Uint8Array.from(spoken)) as ConnectParameters))
  spoken.fill(0, 0, 5 + spoken[4]!)
  spoken.set(words)
  icrc.write(frame)
}

/** Writes `bytes` from `a` to `b`, checks that they arrive: the connection lives. */
export function works(pair: Pair, left: App, id: number, bytes = 20_000): boolean {
  const data = pattern(id, bytes)
  const there = memoryOf(pair.b, Buffer.alloc(bytes))
  const posted = left.connection!.postSend(pair.network.now, {
    id,
    opcode: WorkOpcode.RDMA_WRITE,
    region: memoryOf(pair.a, data),
    offset: 0,
    length: bytes,
    remoteAddress: there.address,
    rkey: there.key,
  })
  return (
    posted && pair.until(() => left.log.includes(`completion ${id} SUCCESS`)) && there.buffer!.equals(data)
  )
}

/** Where Weir's part of a message's private data begins. */
const WORDS_AT: { [kind: string]: number } = {
  REQ: 164 + 36,
  REP: 60,
  RTU: 32,
  REJ: 108,
  MRA: 34,
  DREQ: 36,
  DREP: 32,
}

/** A request of a Weir host for `port` of `a`. Nobody receives the answer. */
export function request(pair: Pair, tap: Wiretap, port: number, id: number, from: HostAddress): void {
  const words = encode({
    version: 1,
    features: 1,
    pathMtu: 1024,
    receiveBudgetBytes: 0,
    hostBudgetUnits: 0,
    applicationData: new Uint8Array(0),
    keyWords: new Uint8Array(0),
    needs: new Uint8Array(0),
    ackEvery: 0,
    filledPayload: 0,
    withoutIcrc: false,
    carriesAcks: false,
    privateBytes: 0,
    wordsProof: new Uint8Array(0),
  })
  sendMessage(pair, tap, 'REQ', [id, 0], { port, qpn: id }, from, BigInt(id), words)
}
