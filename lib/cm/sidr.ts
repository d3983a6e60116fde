/**
 * Service ID resolution of datagrams (IBA 12.11), as librdmacm has it in RDMA_PS_UDP: who wants to send asks a port for QPN and Q_Key. There
 * is no connection, and the end that answers remembers nothing.
 */
import { WeirError } from '../errors.js'
import { type Nanos, NEVER, SECOND } from '../time/nanos.js'
import * as cma from '../wire/cm/cma-header.js'
import * as mad from '../wire/cm/mad.js'
import * as sidrRep from '../wire/cm/sidr-rep.js'
import * as sidrReq from '../wire/cm/sidr-req.js'
import { checkOneHost, type HostAddress } from '../wire/net/address.js'
import { sameGid } from './admission.js'
import { type Ends, transactionIdOf } from './connection.js'
import type { CmCounters } from './counters.js'
import type { Duties } from './duties.js'
import { type ResolvedCmOptions, within } from './options.js'
import type { MadDatagram, Outbox } from './outbox.js'

const DEFAULT_PARTITION = 0xffff
/** Questions under way, and how often and how long each waits for its answer. */
const QUESTIONS_MAX = 256
const ASK_EVERY_NS = SECOND
const ASKS = 8
const NOTHING = new Uint8Array(0)
/** What a program may say beside the CMA header. */
const REQUEST_BYTES_MAX = sidrReq.PRIVATE_DATA_BYTES - cma.BYTES

/** A service: what its port answers. */
export interface DatagramService {
  qpn: number
  qkey: number
  /** At most 136 bytes. */
  privateData: Uint8Array
}

interface DatagramQuestion {
  remote: HostAddress
  /** UDP port of RoCEv2 there. Default: this host's. */
  udpPort?: number
  /** Port of RDMA_PS_UDP, 1 to 65535. */
  port: number
  /** At most 180 bytes. */
  privateData?: Uint8Array
  /** Called once. */
  done(answer: DatagramService | WeirError): void
}

interface Asked {
  question: DatagramQuestion
  ends: Ends
  message: Uint8Array
  asksLeft: number
  dueNs: Nanos
}

const STATUS_TEXTS: Readonly<Record<number, string>> = {
  [sidrRep.SidrStatus.UNSUPPORTED]: 'nobody has that port',
  [sidrRep.SidrStatus.REJECTED]: 'the program there refuses',
  [sidrRep.SidrStatus.NO_QP]: 'it has no queue pair',
  [sidrRep.SidrStatus.REDIRECT]: 'it names another host, which Weir does not follow',
  [sidrRep.SidrStatus.UNSUPPORTED_VERSION]: 'it speaks another version',
}

export class Sidr {
  readonly #options: ResolvedCmOptions
  readonly #outbox: Outbox
  readonly #counters: CmCounters
  readonly #services = new Map<number, DatagramService>()
  readonly #asked = new Map<number, Asked>()
  readonly #duties: Duties

  /** @param duties count its questions too */
  constructor(options: ResolvedCmOptions, outbox: Outbox, counters: CmCounters, duties: Duties) {
    this.#duties = duties
    this.#options = options
    this.#outbox = outbox
    this.#counters = counters
  }

  /** From now on that port of RDMA_PS_UDP answers so. Throws WEIR_BAD_ARGUMENT, and WEIR_BAD_STATE if it is taken. */
  serve(port: number, service: DatagramService): void {
    within('port', port, 1, 65_535)
    within('privateData.length', service.privateData.length, 0, sidrRep.PRIVATE_DATA_BYTES)
    if (this.#services.has(port))
      throw new WeirError(
        'WEIR_BAD_STATE',
        `datagram port ${port} is served already: choose another or close it first`,
      )
    this.#services.set(port, service)
  }

  unserve(port: number): void {
    within('port', port, 1, 65_535)
    this.#services.delete(port)
  }

  /** The queue pair has ended: its ports answer no more, as its number may be another one's soon. */
  forget(qpn: number): void {
    for (const [port, service] of this.#services) if (service.qpn === qpn) this.#services.delete(port)
  }

  /** Asks a host. Throws WEIR_BAD_ARGUMENT, and WEIR_FULL while too many questions are under way. */
  ask(now: Nanos, question: DatagramQuestion): void {
    const { remote, port, privateData = NOTHING, udpPort = this.#options.udpPort } = question
    within('port', port, 1, 65_535)
    within('udpPort', udpPort, 1, 65_534)
    within('privateData.length', privateData.length, 0, REQUEST_BYTES_MAX)
    checkOneHost(`datagram port ${port}`, remote)
    const local = this.#options.addresses.find(({ family }) => family === remote.family)
    if (local === undefined)
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `${remote} is no address of the family of ${this.#options.addresses[0]}`,
      )
    if (this.#asked.size >= QUESTIONS_MAX)
      throw new WeirError(
        'WEIR_FULL',
        `${QUESTIONS_MAX} questions for datagram ports are under way, as many as may`,
      )
    let requestId = this.#options.random() >>> 0
    while (this.#asked.has(requestId)) requestId = (requestId + 1) >>> 0
    const message = new Uint8Array(mad.BYTES)
    const sourcePort = 32_768 + (this.#options.random() % 28_232)
    sidrReq.write(new DataView(message.buffer), 0, transactionIdOf(requestId), {
      requestId,
      partitionKey: DEFAULT_PARTITION,
      serviceId: cma.datagramServiceIdOf(port),
      privateData: headed(local, remote, sourcePort, privateData),
    })
    const asked = { question, ends: { local, remote, udpPort }, message, asksLeft: ASKS, dueNs: now }
    this.#asked.set(requestId, asked)
    this.#duties.count++
    this.#repeat(now, asked)
  }

  #repeat(now: Nanos, asked: Asked): void {
    asked.asksLeft--
    asked.dueNs = now + ASK_EVERY_NS
    this.#add(asked.ends)?.bytes.set(asked.message)
  }

  /** A SIDR_REQ of `ends.remote`. */
  onRequest(ends: Ends, view: DataView): void {
    const message = sidrReq.read(view, 0)
    const { requestId, serviceId } = message
    const port = cma.portOf(serviceId)
    const isUdp = serviceId === cma.datagramServiceIdOf(port)
    const service = isUdp ? this.#services.get(port) : undefined
    const refused = service === undefined || !isFor(message.privateData, ends.local)
    if (refused) this.#counters.sidrRefused++
    const status = service === undefined ? sidrRep.SidrStatus.UNSUPPORTED : sidrRep.SidrStatus.REJECTED
    const datagram = this.#add(ends)
    if (datagram === null) return
    const { qpn, qkey, privateData } = service ?? { qpn: 0, qkey: 0, privateData: NOTHING }
    sidrRep.write(datagram.view, 0, mad.transactionId(view, 0), {
      requestId,
      status: refused ? status : sidrRep.SidrStatus.VALID,
      serviceId,
      qpn: refused ? 0 : qpn,
      qkey: refused ? 0 : qkey,
      privateData: refused ? NOTHING : privateData,
    })
  }

  /** A SIDR_REP of that host. */
  onReply(from: HostAddress, view: DataView): void {
    const { requestId, status, qpn, qkey, privateData } = sidrRep.read(view, 0)
    const asked = this.#asked.get(requestId)
    if (asked === undefined) this.#counters.unknown++
    else if (!asked.ends.remote.equals(from)) this.#counters.wrongSource++
    else {
      this.#asked.delete(requestId)
      this.#duties.count--
      const { remote, port, done } = asked.question
      const why = STATUS_TEXTS[status] ?? `status ${status}`
      if (status === sidrRep.SidrStatus.VALID) done({ qpn, qkey, privateData })
      else done(new WeirError('WEIR_REJECTED', `datagram port ${port} of ${remote}: ${why}`))
    }
  }

  onTimeout(now: Nanos): void {
    for (const [id, asked] of this.#asked) {
      if (asked.dueNs > now) continue
      if (asked.asksLeft > 0) {
        this.#counters.repeated++
        this.#repeat(now, asked)
        continue
      }
      this.#asked.delete(id)
      this.#duties.count--
      const { remote, port, done } = asked.question
      done(
        new WeirError(
          'WEIR_UNREACHABLE',
          `datagram port ${port} of ${remote}: nobody has answered ${ASKS} questions`,
        ),
      )
    }
  }

  nextTimeout(): Nanos {
    // While a connection is in timewait, a NIC asks after each packet, and an iterator is an object.
    if (this.#asked.size === 0) return NEVER
    let next = NEVER
    for (const { dueNs } of this.#asked.values()) next = Math.min(next, dueNs)
    return next
  }

  #add({ local, remote, udpPort }: Ends): MadDatagram | null {
    const datagram = this.#outbox.add(local, remote, udpPort)
    if (datagram === null) this.#counters.outboxFull++
    else this.#counters.sent++
    return datagram
  }
}

/** The private data of a request: the CMA header, and what the program says. */
function headed(local: HostAddress, remote: HostAddress, sourcePort: number, said: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(cma.BYTES + said.length)
  const header = {
    version: 0,
    ipVersion: local.family,
    sourcePort,
    source: local.gid,
    destination: remote.gid,
  }
  cma.write(new DataView(bytes.buffer), 0, header)
  bytes.set(said, cma.BYTES)
  return bytes
}

/** The CMA header names this host, as that of a REQ has to. */
function isFor(data: Uint8Array, local: HostAddress): boolean {
  const header = cma.read(new DataView(data.buffer, data.byteOffset, data.byteLength), 0)
  return header.version === 0 && header.ipVersion === local.family && sameGid(header.destination, local.gid)
}
