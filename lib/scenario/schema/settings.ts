/** Settings of all hosts, and what is sampled. */
import * as z from 'zod'
import { PATH_OPTIONS } from '../../cc/path-options.js'
import { TELEMETRY_OPTIONS } from '../../cc/telemetry-options.js'
import { CNP_PRIORITY, TRANSPORT_OPTIONS, UNTAGGED_CNPS } from '../../qp/transport-options.js'
import { INT_OPTIONS } from '../../wire/telemetry/int-options.js'
import * as f from './fields.js'
import { key, mapping, part } from './keys.js'
import { portSchema } from './network.js'
import { optionKeys } from './option-keys.js'

export const transportSchema = mapping(
  { title: 'transport', about: 'Settings of the reliable transport, of all hosts.' },
  {
    ...optionKeys([...TRANSPORT_OPTIONS, CNP_PRIORITY]),
    ...optionKeys([UNTAGGED_CNPS], () => ({ with: { key: 'correct horse battery staple' } })),
    key: key(f.key, {
      description:
        'Secret of all hosts and switches, by which feedback is authenticated. Results do not contain it.',
      usual: 'feedback is not authenticated',
      example: 'correct horse battery staple',
    }),
  },
)

export const intSchema = mapping(
  { title: 'int', about: 'How telemetry lies in data packets.' },
  optionKeys(INT_OPTIONS),
)

export const telemetrySchema = mapping(
  {
    title: 'telemetry',
    about: 'How all hosts collect telemetry and return it. Sections are those of the drafts named.',
  },
  optionKeys(TELEMETRY_OPTIONS),
)

export const pathsSchema = mapping(
  { title: 'paths', about: 'Path selection and admission by telemetry, of all hosts.' },
  optionKeys(PATH_OPTIONS),
)

export const watchSchema = mapping(
  {
    title: 'watch',
    about:
      'What is sampled during the run, for `series` and `summary` of the JSON. Without `watch` nothing is sampled.',
  },
  {
    queues: part(
      z
        .union([z.literal('all'), z.array(portSchema)])
        .meta({ words: '`all`, or list of ports (`s1:s2`, `s1:s2#1`, `s1:0`)' }),
      {
        description:
          'Ports of switches whose queue and sent bytes are sampled. `s1:s2` names all parallel links of s1 to s2, `s1:s2#1` the second of them, `s1:0` a port by its number; `all` are all ports of all switches.',
        default: [],
        example: 'all',
      },
    ),
    every: key(f.positiveDuration, {
      description:
        'Interval of the samples, of flows too, at least 100ns. A run keeps a million samples at most.',
      default: '100us',
      example: '10ms',
    }),
    flows: key(f.yesNo, {
      description:
        'Rate, window, bytes in flight and bytes acknowledged of each flow are sampled as well. In virtual time not beyond 64 flows; in real time every 500ms, without bytes in flight.',
      default: true,
      example: false,
    }),
  },
)
