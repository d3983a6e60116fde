/**
 * Scripts like packetdrill's: one line for each input of a manager, datagram that it sends, and event that it
 * reports.
 *
 *     0ms     connect                     a command, as the application gives it
 *     0ms     > REQ 1001>0                the manager sends: message, own comm id > peer's
 *     5ms     < REP 2001>1001             the peer sends
 *     5ms     > RTU 1001>2001
 *     5ms     ! established rep 5ms       the manager reports
 *
 * Time only advances; the manager's timers fire when they are due. The script must contain everything that the
 * manager sends or reports, at its time, and nothing else. Ids are decimal: the manager draws 1001, 1002…
 */
import type { Test } from 'tap'
import { ConnectionManager } from '../../lib/cm/connection-manager.js'
import type { CmEvent } from '../../lib/cm/events.js'
import type { CmOptions } from '../../lib/cm/options.js'
import { MadDatagram } from '../../lib/cm/outbox.js'
import { MILLISECOND, type Nanos } from '../../lib/time/nanos.js'
import * as messages from '../../lib/wire/cm/cm-messages.js'
import { Attribute } from '../../lib/wire/cm/cm-messages.js'
import * as cma from '../../lib/wire/cm/cma-header.js'
import * as drep from '../../lib/wire/cm/drep.js'
import * as dreq from '../../lib/wire/cm/dreq.js'
import * as mad from '../../lib/wire/cm/mad.js'
import * as mra from '../../lib/wire/cm/mra.js'
import * as path from '../../lib/wire/cm/path.js'
import * as rej from '../../lib/wire/cm/rej.js'
import * as rep from '../../lib/wire/cm/rep.js'
import * as req from '../../lib/wire/cm/req.js'
import * as rtu from '../../lib/wire/cm/rtu.js'
import { HostAddress } from '../../lib/wire/net/address.js'

export const OWN = HostAddress.parse('10.0.0.1')
export const PEER = HostAddress.parse('10.0.0.2')
export const OWN_GUID = 0xa1n
const PEER_GUID = 0xb2n
export const PORT = 7174

/** Changes one field of the message that the peer sends. */
export type Bend = (view: DataView) => void

export class Script {
  readonly manager: ConnectionManager
  now: Nanos = 0
  /** Every datagram sent, whole. */
  readonly sent: Uint8Array[] = []
  readonly events: CmEvent[] = []
  readonly #t: Test
  readonly #said: string[] = []
  readonly #datagram = new MadDatagram()
  readonly #bends: Record<string, Bend>
  #nextId = 1001
  #qpn = 101

  constructor(t: Test, options: Partial<CmOptions> = {}, bends: Record<string, Bend> = {}) {
    this.#t = t
    this.#bends = bends
    this.manager = new ConnectionManager({
      caGuid: OWN_GUID,
      addresses: [OWN],
      random: () => this.#nextId++,
      ...options,
    })
    this.manager.listen(PORT)
  }

  run(text: string): void {
    for (const line of text.split('\n')) {
      const words = line.replace(/#.*/, '').trim().split(/\s+/)
      if (words.length > 1) this.#line(line.trim(), timeOf(words[0]!), words.slice(1))
    }
    this.nothingLeft('at the end')
  }

  #line(line: string, time: Nanos, words: string[]): void {
    if (time > this.now) this.advance(time)
    const [what, ...rest] = words
    if (what === '>' || what === '!') {
      this.#t.equal(this.#said.shift(), words.join(' '), line)
      return
    }
    this.nothingLeft(`before "${line}"`)
    if (what === '<') this.#receive(rest)
    else this.#command(what!, rest)
    this.#drain()
  }

  /** Does what one line says, now, and returns what the manager sends and tells then. */
  said(line: string): string[] {
    const [what, ...rest] = line.split(' ')
    if (what === '<') this.#receive(rest)
    else this.#command(what!, rest)
    this.#drain()
    return this.#said.splice(0)
  }

  /** Advances the time. Timers fire at their times, and the next lines must expect what they cause. */
  advance(time: Nanos): void {
    this.nothingLeft(`before ${time / MILLISECOND}ms`)
    for (let due = this.manager.nextTimeout(); due <= time; due = this.manager.nextTimeout()) {
      this.manager.onTimeout(due - 1)
      this.#drain()
      this.nothingLeft('a timer fired early')
      this.now = due
      this.manager.onTimeout(due)
      this.#drain()
      if (due < time) this.nothingLeft(`at ${due / MILLISECOND}ms`)
    }
    this.now = time
  }

  nothingLeft(when: string): void {
    if (this.#said.length > 0) this.#t.fail(`${when}: unexpected ${this.#said.splice(0).join(' | ')}`)
  }

  #drain(): void {
    for (let event = this.manager.pollEvent(); event; event = this.manager.pollEvent()) {
      this.events.push(event)
      this.#said.push(`! ${eventText(event)}`)
    }
    while (this.manager.pollTransmit(this.now, this.#datagram)) {
      this.#t.ok(this.#datagram.destination.equals(PEER) && this.#datagram.source.equals(OWN), 'addresses')
      this.sent.push(this.#datagram.bytes.slice())
      this.#said.push(`> ${messageText(this.#datagram.view)}`)
    }
  }

  #command(name: string, words: string[]): void {
    const id = Number(words[0] ?? 1001)
    const { manager, now } = this
    const pair = { qpn: this.#qpn, startingPsn: 500 }
    if (name === 'connect') {
      manager.connect(now, { ...pair, remote: PEER, port: PORT, sourcePort: 40_000, pathMtu: 1024 })
      this.#qpn++
    } else if (name === 'accept') {
      this.#t.equal(manager.accept(now, id, pair), true)
      this.#qpn++
    } else if (name === 'reject') manager.reject(now, id)
    else if (name === 'mra') manager.mra(now, id, Number(words[1] ?? 24))
    else if (name === 'disconnect') manager.disconnect(now, id)
    else if (name === 'confirm') manager.confirm(now, id)
    else if (name === 'data') manager.onDataArrived(now, id)
    else throw new Error(`no command "${name}"`)
  }

  /** `KIND local>remote [key=value…] [bend…]`; the transaction id is 0x77 unless `tid=` says otherwise. */
  #receive(words: string[]): void {
    const [kind, ids, ...rest] = words
    const [local, remote] = ids!.split('>').map(Number) as [number, number]
    const options = new Map(
      rest.filter(word => word.includes('=')).map(word => word.split('=') as [string, string]),
    )
    const option = (key: string, otherwise: number) => Number(options.get(key) ?? otherwise)
    const bytes = new Uint8Array(mad.BYTES)
    const view = new DataView(bytes.buffer)
    writeMessage(view, kind!, local, remote, BigInt(option('tid', 0x77)), option)
    for (const bend of rest.filter(word => !word.includes('='))) this.#bends[bend]!(view)
    this.manager.onMad(
      this.now,
      options.has('from') ? HostAddress.parse(options.get('from')!) : PEER,
      view,
      0,
      256,
    )
  }
}

type Option = (key: string, otherwise: number) => number
const NOTHING = new Uint8Array(0)

export function writeMessage(
  view: DataView,
  kind: string,
  localCommId: number,
  remoteCommId: number,
  tid: bigint,
  option: Option,
): void {
  const ids = { localCommId, remoteCommId, privateData: NOTHING }
  const message = option('of', 0)
  if (kind === 'REQ') req.write(view, 0, tid, aReq(localCommId, option))
  else if (kind === 'REP') rep.write(view, 0, tid, aRep(localCommId, remoteCommId, option))
  else if (kind === 'RTU') rtu.write(view, 0, tid, ids)
  else if (kind === 'MRA') mra.write(view, 0, tid, { ...ids, message, serviceTimeout: option('service', 24) })
  else if (kind === 'DREQ') dreq.write(view, 0, tid, { ...ids, remoteQpn: option('qpn', 101) })
  else if (kind === 'DREP') drep.write(view, 0, tid, ids)
  else if (kind === 'REJ') {
    const information = new Uint8Array(8)
    new DataView(information.buffer).setBigUint64(0, BigInt(option('guid', Number(PEER_GUID))))
    rej.write(view, 0, tid, {
      ...ids,
      message,
      reason: option('reason', 28),
      informationLength: 8,
      information,
    })
  } else throw new Error(`no message "${kind}"`)
}

function aReq(localCommId: number, option: Option): req.Req {
  const privateData = new Uint8Array(92)
  cma.write(new DataView(privateData.buffer), 0, {
    version: 0,
    ipVersion: 4,
    sourcePort: 40_001,
    source: PEER.gid,
    destination: OWN.gid,
  })
  return {
    localCommId,
    vendorId: 0,
    serviceId: cma.serviceIdOf(option('port', PORT)),
    localCaGuid: BigInt(option('guid', Number(PEER_GUID))),
    localQkey: 0,
    localQpn: option('qpn', 201),
    responderResources: option('rr', 1),
    localEecn: 0,
    initiatorDepth: option('id', 1),
    remoteEecn: 0,
    remoteCmResponseTimeout: 20,
    transport: option('transport', 0),
    endToEndFlowControl: false,
    startingPsn: option('psn', 600),
    localCmResponseTimeout: option('timeout', 20),
    retryCount: option('retry', 7),
    pkey: option('pkey', 0xffff),
    pathMtu: option('mtu', 3),
    rdcExists: false,
    rnrRetry: option('rnr', 7),
    maxCmRetries: option('retries', 15),
    srq: option('srq', 0) === 1,
    extendedTransport: 0,
    primary: {
      ...path.none(),
      localGid: PEER.gid,
      remoteGid: OWN.gid,
      flowLabel: 0x12345,
      localAckTimeout: option('ack', 19),
    },
    alternate: path.none(),
    privateData,
  }
}

function aRep(localCommId: number, remoteCommId: number, option: Option): rep.Rep {
  return {
    localCommId,
    remoteCommId,
    localQkey: 0,
    localQpn: option('qpn', 201),
    vendorId: 0,
    localEecn: 0,
    startingPsn: option('psn', 600),
    responderResources: option('rr', 1),
    initiatorDepth: option('id', 1),
    targetAckDelay: option('ack', 15),
    failoverAccepted: 0,
    endToEndFlowControl: false,
    rnrRetry: option('rnr', 7),
    srq: option('srq', 0) === 1,
    localCaGuid: BigInt(option('guid', Number(PEER_GUID))),
    privateData: NOTHING,
  }
}

/** Prints the distinguishing fields of a message: `REJ 0>2001 of=0 reason=8`. */
function messageText(view: DataView): string {
  const attribute = mad.attributeId(view, 0)
  const local = messages.localCommId(view, 0)
  const remote = attribute === Attribute.REQ ? 0 : messages.remoteCommId(view, 0)
  const head = `${messages.attributeName(attribute)} ${local}>${remote}`
  if (attribute === Attribute.REJ) return `${head} of=${rej.message(view, 0)} reason=${rej.reason(view, 0)}`
  if (attribute === Attribute.MRA)
    return `${head} of=${mra.message(view, 0)} service=${mra.serviceTimeout(view, 0)}`
  if (attribute === Attribute.DREQ) return `${head} qpn=${dreq.remoteQpn(view, 0)}`
  return head
}

function eventText(event: CmEvent): string {
  switch (event.type) {
    case 'connectRequest':
      return `connectRequest ${event.id} qpn=${event.qpn}`
    case 'established':
      return `established ${event.id} ${event.by} ${event.roundTripNs === null ? '-' : `${event.roundTripNs / MILLISECOND}ms`}`
    case 'rejected':
      return `rejected ${event.id} reason=${event.reason}`
    case 'disconnected':
      return `disconnected ${event.id} ${event.cause}`
    default:
      return `${event.type} ${event.id}`
  }
}

function timeOf(word: string): Nanos {
  const match = /^([\d.]+)(ms|s)?$/.exec(word)
  if (!match) throw new Error(`no time: "${word}"`)
  return Math.round(Number(match[1]) * (match[2] === 's' ? 1000 : 1) * MILLISECOND)
}
