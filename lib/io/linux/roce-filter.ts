/**
 * Classic BPF (bpf(4) of the BSDs; linux/filter.h) for a host's packet socket. It passes what a Weir NIC has
 * to see. It rejects what only the kernel's own stack needs, such as ping and TCP. The kernel has already
 * removed VLAN tags.
 */
import type { HostAddress } from '../../wire/net/address.js'
import * as ethernet from '../../wire/net/ethernet.js'
import * as ipv4 from '../../wire/net/ipv4.js'
import * as ipv6 from '../../wire/net/ipv6.js'
import * as udp from '../../wire/net/udp.js'
import type { FilterInstruction } from './socket-filter.js'

const LOAD_WORD = 0x20
const LOAD_HALF = 0x28
const LOAD_BYTE = 0x30
/** Loads from x + k. */
const LOAD_HALF_INDEXED = 0x48
/** Sets x to the IPv4 header length in the byte at k. */
const LOAD_X_IP_HEADER = 0xb1
const JUMP_EQUAL = 0x15
const JUMP_ANY_BIT = 0x45
const RETURN = 0x06
const WHOLE_FRAME = 0xffff_ffff

const TYPE_AT = 12
const L3 = ethernet.BYTES
/** The frame has more fragments, or a fragment offset. */
const FRAGMENT_BITS = 0x3fff

/** Where a test leads: to the next instruction, past a number of instructions, or to one of the two ends. */
type Target = 'next' | 'accept' | 'reject' | number
interface Step {
  code: number
  k: number
  /** Where a test leads when it holds, and when it does not. */
  yes?: Target
  no?: Target
}

/**
 * Passes whole RoCEv2 packets to `address`, with or without telemetry in any encapsulation, and MAC control
 * frames (PAUSE, PFC). It also passes any IFA packet, and any UDP after the hop-by-hop header of IOAM. The
 * NIC checks those further.
 *
 * @param ifaProtocol IP protocol of IFA
 * @param lldp passes LLDP frames as well: somebody speaks with the switch
 */
export function roceFilter(address: HostAddress, ifaProtocol: number, lldp: boolean): FilterInstruction[] {
  return assemble([
    { code: LOAD_HALF, k: TYPE_AT },
    { code: JUMP_EQUAL, k: ethernet.TYPE_MAC_CONTROL, yes: 'accept' },
    ...(lldp ? [{ code: JUMP_EQUAL, k: ethernet.TYPE_LLDP, yes: 'accept' } as const] : []),
    ...(address.family === 4 ? toIpv4(address, ifaProtocol) : toIpv6(address, ifaProtocol)),
    { code: JUMP_EQUAL, k: udp.PORT_ROCE, yes: 'accept' },
    { code: JUMP_EQUAL, k: udp.PORT_INT, yes: 'accept', no: 'reject' },
  ])
}

/** At its end the UDP destination port is loaded. */
function toIpv4(address: HostAddress, ifaProtocol: number): Step[] {
  return [
    { code: JUMP_EQUAL, k: ethernet.TYPE_IPV4, no: 'reject' },
    { code: LOAD_HALF, k: L3 + 6 },
    { code: JUMP_ANY_BIT, k: FRAGMENT_BITS, yes: 'reject' },
    { code: LOAD_WORD, k: L3 + 16 },
    { code: JUMP_EQUAL, k: address.ipv4, no: 'reject' },
    { code: LOAD_BYTE, k: L3 + 9 },
    { code: JUMP_EQUAL, k: ifaProtocol, yes: 'accept' },
    { code: JUMP_EQUAL, k: ipv4.PROTOCOL_UDP, no: 'reject' },
    { code: LOAD_X_IP_HEADER, k: L3 },
    { code: LOAD_HALF_INDEXED, k: L3 + 2 },
  ]
}

/** The same for IPv6. The only extension header in RoCEv2 packets is IOAM's. */
function toIpv6(address: HostAddress, ifaProtocol: number): Step[] {
  const gid = new DataView(address.gid.buffer, address.gid.byteOffset, 16)
  const words = [0, 4, 8, 12].flatMap(at => [
    { code: LOAD_WORD, k: L3 + 24 + at },
    { code: JUMP_EQUAL, k: gid.getUint32(at), no: 'reject' as const },
  ])
  return [
    { code: JUMP_EQUAL, k: ethernet.TYPE_IPV6, no: 'reject' },
    ...words,
    { code: LOAD_BYTE, k: L3 + 6 },
    { code: JUMP_EQUAL, k: ifaProtocol, yes: 'accept' },
    { code: JUMP_EQUAL, k: ipv6.HOP_BY_HOP, no: 2 },
    { code: LOAD_BYTE, k: L3 + ipv6.BYTES },
    { code: JUMP_EQUAL, k: ipv4.PROTOCOL_UDP, yes: 'accept', no: 'reject' },
    { code: JUMP_EQUAL, k: ipv4.PROTOCOL_UDP, no: 'reject' },
    { code: LOAD_HALF, k: L3 + ipv6.BYTES + 2 },
  ]
}

/** Computes the jumps and appends both ends. */
function assemble(steps: readonly Step[]): FilterInstruction[] {
  const distance = (at: number, target: Target = 'next') => {
    if (target === 'next') return 0
    if (typeof target === 'number') return target
    return steps.length - at - 1 + (target === 'accept' ? 0 : 1)
  }
  return [
    ...steps.map(({ code, k, yes, no }, at) => ({
      code,
      k,
      jt: distance(at, yes),
      jf: distance(at, no),
    })),
    { code: RETURN, k: WHOLE_FRAME, jt: 0, jf: 0 },
    { code: RETURN, k: 0, jt: 0, jf: 0 },
  ]
}

/** Rejects everything: the socket is bound, and receives nothing. */
export const DROP_ALL: readonly FilterInstruction[] = [{ code: RETURN, k: 0, jt: 0, jf: 0 }]
