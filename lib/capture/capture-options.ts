/** Settings of captures: ranges and meaning, for the writer's checks, command lines and their help. */
import type { CommandOption } from '../options/option.js'
import { MOST } from '../options/option.js'

export const SNAPLEN = {
  name: 'snaplen',
  kind: 'bytes',
  min: 64,
  max: 65_535,
  doc: 'bytes kept of a captured frame',
  idle: [{ while: { pcap: { given: false } } }],
  command: { flag: '--snaplen <bytes>', usual: 'all' },
} as const satisfies CommandOption

export const PCAP_SIZE = {
  name: 'pcapSize',
  kind: 'bytes',
  min: 1 << 20,
  max: MOST,
  default: 1e9,
  doc: 'disk that the captures of a port may take; the oldest packets make room for new ones',
  idle: [{ while: { pcap: { given: false } } }],
  command: { flag: '--pcap-size <size>' },
} as const satisfies CommandOption
