import { DOUBLE_0 } from '../../double.js'
import type { Nanos } from '../../time/nanos.js'

const NO_BYTES = new Uint8Array(0)

/** How a connection is made: what this end brings to it, and what the messages of the connection manager showed. */
export class Handshake {
  /** This end began the connection. */
  readonly active: boolean
  /** T, when it is given; 0 = to be measured. */
  readonly fixedBaseRttNs: Nanos
  #cmId = DOUBLE_0
  #joinedQpn = 0
  #receivePsn = 0
  #roundTripNs: Nanos = 0
  #refusedBefore: readonly number[] = []
  #hidesAckEvery = false
  #keyWords: Uint8Array = NO_BYTES
  #wordsKey: Uint8Array | null = null
  #request: Uint8Array = NO_BYTES
  #reply: Uint8Array = NO_BYTES
  #peerPrivateData: Uint8Array = NO_BYTES

  /** @param fixedBaseRttNs 0 = T is to be measured */
  constructor(active: boolean, fixedBaseRttNs: Nanos) {
    this.active = active
    this.fixedBaseRttNs = fixedBaseRttNs
  }

  /** The CM's id of the connection, 0 before there is one. */
  get cmId(): number {
    return this.#cmId
  }

  /** The peer's queue pair in this program, as long as neither CM knows the connection, which was made without messages; 0: they do. */
  get joinedQpn(): number {
    return this.#joinedQpn
  }

  /** First PSN that the peer sends with. */
  get receivePsn(): number {
    return this.#receivePsn
  }

  /** Round trip of the connection manager's messages, 0 = not known. */
  get roundTripNs(): Nanos {
    return this.#roundTripNs
  }

  /** Packets of the peer's host that had been dropped before, see `RefusedPackets`. */
  get refusedBefore(): readonly number[] {
    return this.#refusedBefore
  }

  /** This end has not said how often it acknowledges: its REQ has no room for that. */
  get hidesAckEvery(): boolean {
    return this.#hidesAckEvery
  }

  /** Key words that this end sent at connect; empty without a secret. */
  get keyWords(): Uint8Array {
    return this.#keyWords
  }

  /** Proves what both ends have said; null: nothing does. */
  get wordsKey(): Uint8Array | null {
    return this.#wordsKey
  }

  /** Weir's words in the REQ, as this end has sent or read them; empty: there were none. */
  get request(): Uint8Array {
    return this.#request
  }

  /** Weir's words in the REP, likewise. */
  get reply(): Uint8Array {
    return this.#reply
  }

  /** What the peer's application sent along. */
  get peerPrivateData(): Uint8Array {
    return this.#peerPrivateData
  }

  /** The connection manager knows the connection by this id, or is to. */
  name(cmId: number): void {
    this.#cmId = cmId
  }

  /** @param qpn as `joinedQpn` */
  join(qpn: number): void {
    this.#joinedQpn = qpn
  }

  /** The peer is to begin with this PSN, 24 bits. */
  expect(receivePsn: number): void {
    this.#receivePsn = receivePsn
  }

  /** @param refused as `refusedBefore` */
  onRequest(refused: readonly number[]): void {
    this.#refusedBefore = refused
  }

  /** This end shows these words to prove that it has the key. */
  speak(keyWords: Uint8Array): void {
    this.#keyWords = keyWords
  }

  /** @param key as `ConnectionKeys.wordsKey` */
  proveBy(key: Uint8Array | null): void {
    this.#wordsKey = key
  }

  /** The REQ has these words of Weir's. */
  onRequestWords(words: Uint8Array): void {
    this.#request = words
  }

  /** The REP has these words of Weir's. */
  onReplyWords(words: Uint8Array): void {
    this.#reply = words
  }

  hideAckEvery(): void {
    this.#hidesAckEvery = true
  }

  onRoundTrip(rttNs: Nanos): void {
    this.#roundTripNs = rttNs
  }

  onPrivateData(data: Uint8Array): void {
    this.#peerPrivateData = data
  }
}
