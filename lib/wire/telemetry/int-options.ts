/** How telemetry lies in packets: the one table that scenario files, `weir daemon --int`, `weir dump` and checks follow. */
import { IFA_PROTOCOL, IFA_PROTOCOLS_TAKEN } from '../../frame/ifa-protocol.js'
import type { SettingsOf, ValueOption } from '../../options/option.js'
import { FORMAT_NAMES } from './telemetry.js'

const TABLE = [
  {
    name: 'format',
    kind: 'choice',
    choices: FORMAT_NAMES,
    default: 'wide',
    doc: "encapsulation: Weir's shim with slots of 24 bytes (wide) or of 8 bytes as in the HPCC paper (compact), INT-MD 2.1 of P4.org, IFA 2.0, or the pre-allocated trace of IOAM (RFC 9197)",
    example: 'compact',
  },
  {
    name: 'hops',
    kind: 'count',
    min: 1,
    max: 15,
    doc: 'switches that may write into a packet',
    usual:
      'the number of switches on the longest path of the traffic, without traffic on that of any two hosts',
    example: 5,
  },
  {
    name: 'ifaProtocol',
    kind: 'count',
    min: 0,
    max: 255,
    except: IFA_PROTOCOLS_TAKEN,
    default: IFA_PROTOCOL,
    doc: 'IP protocol of IFA, for which IANA has assigned none: one that no other packets here have',
    example: 131,
    with: { format: 'ifa' },
    idle: [{ while: { format: { not: 'ifa' } }, mend: 'format to ifa' }],
    command: { flag: '--ifa-protocol <number>' },
  },
] as const satisfies readonly ValueOption[]

export type IntOptions = SettingsOf<typeof TABLE>

export const INT_OPTIONS: readonly ValueOption[] = TABLE

export const [INT_FORMAT, INT_HOPS, IFA_OPTION] = TABLE
