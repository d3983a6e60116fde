/** The entries of `traffic`: single flows, incasts and workloads. */
import * as z from 'zod'
import { listed } from '../../options/value.js'
import { WORKLOAD_NAMES } from '../model/size-distribution.js'
import { ccSchema } from './controllers.js'
import * as f from './fields.js'
import { key, mapping, part, requiredKey, requiredPart } from './keys.js'

/** A message of a reliable connection has at most 2^31 bytes (IBA 9.7.2). */
const FLOW_BYTES_MAX = 2 ** 31

const host = f.written('name of a host', '^[A-Za-z][A-Za-z0-9_-]*$')
const hostList = z
  .union([f.names, z.array(f.names).min(1)])
  .meta({ words: 'list of names and ranges of hosts, or one of them' })

const flowCommon = {
  start: key(f.duration, {
    description: 'When it starts, from the start of the traffic.',
    default: 0,
    example: '300ms',
  }),
  cc: part(ccSchema, {
    description: 'Congestion controller of these flows.',
    usual: '`cc` of the scenario',
    example: 'fixed-window',
  }),
  priority: key(f.whole(0, 7), {
    description: 'Priority: traffic class, queue and priority group at every switch.',
    default: 3,
    example: 5,
  }),
}

const size = requiredKey(f.bytesBetween(1, FLOW_BYTES_MAX), {
  description: 'Payload of each flow. A flow is one message.',
  example: '10MB',
})

const repetition = {
  repeat: key(f.whole(1, 100_000), {
    description: 'The entry so many times in all, `every` apart; the flows are called `NAME#0`, `NAME#1` ….',
    default: 1,
    example: 3,
    with: { every: '10us' },
  }),
  every: key(f.positiveDuration, {
    description: 'Time from one repetition to the next. It needs `repeat`.',
    usual: 'nothing is repeated',
    example: '10us',
    with: { repeat: 3 },
  }),
}

export const flowSchema = mapping(
  {
    title: 'a flow',
    about: 'One message from one host to another.',
    json: { dependentRequired: { every: ['repeat'] } },
  },
  {
    name: key(f.name, {
      description: 'Name of the flow, unique among the entries of `traffic`.',
      usual: '`flow0`, `flow1` …, by the place of the entry',
      example: 'elephant',
    }),
    ...flowCommon,
    from: requiredKey(host, { description: 'The host that sends.', example: 'h1' }),
    to: requiredKey(host, { description: 'The host that receives.', example: 'h3' }),
    size,
    sourcePort: key(f.whole(0xc000, 0xffff), {
      description:
        'UDP source port of both directions: the entropy by which switches choose among equal paths. Parallel flows get the ports that follow.',
      usual: 'the NIC draws one',
      example: 49_153,
    }),
    count: key(f.whole(1, 10_000), {
      description: 'Parallel flows, called `NAME.0`, `NAME.1` ….',
      default: 1,
      example: 4,
    }),
    ...repetition,
  },
)

export const incastSchema = mapping(
  {
    title: 'an incast',
    about: 'Many hosts send to one at the same time: a flow `NAME.HOST` for each sender.',
    json: { dependentRequired: { every: ['repeat'] } },
  },
  {
    name: key(f.name, {
      description: 'Name of the incast, unique among the entries of `traffic`.',
      usual: '`incast0`, `incast1` …, by the place of the entry',
      example: 'burst',
    }),
    ...flowCommon,
    incast: requiredPart(hostList, { description: 'The hosts that send.', example: ['h1..h2'] }),
    to: requiredKey(host, { description: 'The host that receives.', example: 'h3' }),
    size,
    ...repetition,
  },
)

export const workloadSchema = mapping(
  {
    title: 'a workload',
    about:
      'Flows that arrive at random: a Poisson process at every host, sizes from a distribution, any other host as the receiver, each equally likely. The flows are called `NAME.0`, `NAME.1` … in the order of their starts.',
  },
  {
    name: key(f.name, {
      description: 'Name of the workload, unique among the entries of `traffic`.',
      usual: 'the name of the distribution and the place of the entry, such as `websearch0`',
      example: 'background',
    }),
    ...flowCommon,
    workload: requiredKey(f.text.meta({ words: `${listed(WORKLOAD_NAMES)}, or path of a file` }), {
      description:
        'Distribution of the flow sizes. A file has lines of `BYTES PERCENT`, the cumulative distribution from 0 to 100 percent; a relative path starts at the scenario file.',
      example: 'websearch',
    }),
    load: requiredKey(f.positiveFraction, {
      description: "Payload that each host is to send, as a share of its own link's rate.",
      example: '50%',
    }),
    duration: requiredKey(f.positiveDuration, {
      description: 'For how long flows arrive, from `start`.',
      example: '10ms',
    }),
    seed: key(f.whole(0, Number.MAX_SAFE_INTEGER), {
      description: 'Seed of this workload. `weir run --seed` overrides it.',
      usual: '`seed` of the scenario',
      example: 7,
    }),
    hosts: part(hostList, {
      description: 'The hosts that send and receive, two at least.',
      usual: 'all hosts',
      example: ['h1..h3'],
    }),
  },
)
