/** What a controller has to know of its path, where users say it: the rows that daemons, scenario files and NICs share. */
import type { CommandOption } from '../options/option.js'

/** The rate of a host's link. */
export const LINE_RATE = {
  name: 'lineRateBps',
  kind: 'rate',
  min: 1000,
  max: 1e12,
  doc: "rate of this host's link, as in 10Gbps",
  command: { flag: '--line-rate <rate>', usual: 'what the network card reports' },
} as const satisfies CommandOption

/** T, the round-trip time of the idle path (draft-miao-rtgwg-hpccplus, section 4). */
export const BASE_RTT = {
  name: 'baseRtt',
  kind: 'time',
  min: 1,
  max: 60e9,
  doc: 'round-trip time of the idle path, as in 50us',
  command: { flag: '--base-rtt <time>', usual: 'the smallest of the last 10 s' },
} as const satisfies CommandOption
