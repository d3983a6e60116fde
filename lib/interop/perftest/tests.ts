/** perftest's tests: what is exchanged before and after the data. Seen at version 6.06; later ones have the same. */
import { WorkOpcode } from '../../qp/queues/work.js'

export type TestName = 'bw' | 'lat'
export const OPS = ['write', 'send', 'read', 'atomic'] as const
export type PerftestOp = (typeof OPS)[number]

/** TCP port of perftest, and with `-R` port of the connection manager. */
export const PERFTEST_PORT = 18_515

export interface PerftestTest {
  /** Whose keys the ends exchange, and in which rounds, until the data may begin: those of all queue pairs, or of the first. */
  keysBefore: readonly ('all' | 'first')[]
  /** How often after the data. The first says that the client is done, the last that both are. */
  keysAfter: number
  /** The client tells what it has measured. */
  reports: boolean
  opcode: WorkOpcode
  /** The defaults of perftest's own programs. Both ends have to have the same. */
  size: number
  iterations: number
}

const bandwidth = { size: 65_536, iterations: 1000 }
/** The listening end does nothing, so it waits for the client's keys. */
const passive: Omit<PerftestTest, 'opcode'> = {
  ...bandwidth,
  keysBefore: ['all', 'all', 'first'],
  keysAfter: 2,
  reports: true,
}
const latency: Omit<PerftestTest, 'opcode'> = {
  keysBefore: ['all', 'all', 'all', 'first'],
  keysAfter: 1,
  reports: false,
  size: 2,
  iterations: 1000,
}
const { RDMA_WRITE, SEND, RDMA_READ, FETCH_AND_ADD } = WorkOpcode
/** Queue pairs of a test: reliable or unreliable connections (-c). */
export const SERVICES = ['RC', 'UC'] as const
export type PerftestService = (typeof SERVICES)[number]

/** Unreliable connections have SEND and WRITE (IBA 9.8.2). */
export function hasService(op: PerftestOp, service: PerftestService): boolean {
  return service === 'RC' || op === 'write' || op === 'send'
}

/** The same test with data both ways (-b): both ends wait for each other before, and tell what they have measured. */
export function bothWays(test: PerftestTest): PerftestTest {
  const keysBefore =
    test.opcode === WorkOpcode.SEND ? test.keysBefore : [...test.keysBefore, 'first' as const]
  return { ...test, keysBefore, keysAfter: 1, reports: true }
}

/** An atomic is of 8 bytes. */
export const ATOMIC_BYTES = 8

export const TESTS: Readonly<Record<TestName, Readonly<Record<PerftestOp, PerftestTest>>>> = {
  bw: {
    write: { ...passive, opcode: RDMA_WRITE, iterations: 5000 },
    send: {
      ...bandwidth,
      opcode: SEND,
      keysBefore: ['all', 'first', 'all', 'first'],
      keysAfter: 1,
      reports: false,
    },
    read: { ...passive, opcode: RDMA_READ },
    atomic: { ...passive, opcode: FETCH_AND_ADD, size: ATOMIC_BYTES },
  },
  lat: {
    /** ib_write_lat leaves without a word. */
    write: { ...latency, opcode: RDMA_WRITE, keysAfter: 0 },
    send: { ...latency, opcode: SEND },
    read: { ...latency, opcode: RDMA_READ },
    atomic: { ...latency, opcode: FETCH_AND_ADD, size: ATOMIC_BYTES },
  },
}

/** Rounds of the first queue pair's keys in the shortest test of those that exchange any after the data. */
export const ROUNDS_THROUGH = Math.min(
  ...Object.values(TESTS)
    .flatMap(each => Object.values(each))
    .filter(({ keysAfter }) => keysAfter > 0)
    .map(({ keysBefore, keysAfter }) => keysBefore.length + keysAfter),
)
