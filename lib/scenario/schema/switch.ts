/** Settings of a switch. SONiC's names are in brackets. */
import * as z from 'zod'
import { RESERVED_ID_FIRST } from '../../wire/telemetry/hop-records.js'
import { featureKeys } from './features.js'
import * as f from './fields.js'
import { key, mapping, part } from './keys.js'

const WEIGHT_MAX = 100

const PRIORITY_KEY = z.string().meta({ pattern: '^[0-7]$' })

export const switchSchema = mapping(
  {
    title: 'a switch',
    about:
      '`switches` is a mapping of names, or ranges of names, to these keys, or a list of names (`[s1, s2]`). Everything has one of eight priorities, 0 to 7, which is traffic class, queue and priority group in one; a higher one is served first. Every switch has a link.',
  },
  {
    id: key(f.whole(1, RESERVED_ID_FIRST - 1), {
      description: 'What the switch writes into telemetry, unique among the switches.',
      usual: '1, 2 … in the order of the switches, those that are taken left out',
      example: 7,
    }),
    buffer: key(f.positiveBytes, {
      description: 'Packet memory that all ports share.',
      default: '32MB',
      example: '4MB',
    }),
    queueBytesMax: key(f.positiveBytes, {
      description: 'Bytes that may wait in one lossy egress queue.',
      usual: 'the whole buffer',
      example: '1MB',
    }),
    dscpToTc: part(
      z
        .record(z.string().meta({ pattern: '^0*(?:[0-9]|[1-5][0-9]|6[0-3])$' }), f.whole(0, 7))
        .meta({ words: 'mapping of DSCP (0 to 63) to priority (0 to 7)' }),
      {
        description: 'Priority by DSCP [DSCP_TO_TC_MAP]. A DSCP that the map does not name has priority 0.',
        usual: 'DSCP / 8, the class selectors',
        example: { 26: 3, 48: 6 },
      },
    ),
    pcpToTc: part(
      z.record(PRIORITY_KEY, f.whole(0, 7)).meta({ words: 'mapping of PCP (0 to 7) to priority (0 to 7)' }),
      {
        description:
          'Priority by the PCP of the VLAN tag [DOT1P_TO_TC_MAP]. A PCP that the map does not name has priority 0.',
        usual: 'the DSCP decides',
        example: { 3: 3, 5: 5 },
      },
    ),
    scheduler: part(
      z
        .union([
          z.literal('strict'),
          z.record(PRIORITY_KEY, z.union([f.whole(1, WEIGHT_MAX), z.literal('strict')])),
        ])
        .meta({ words: `\`strict\`, or mapping of priority to weight (1 to ${WEIGHT_MAX}) or \`strict\`` }),
      {
        description:
          'Weights of deficit round robin by priority [SCHEDULER]. A priority that the map does not name is strict.',
        default: 'strict',
        example: { 0: 30, 3: 70 },
      },
    ),
    ...featureKeys(),
  },
)

export { WEIGHT_MAX }
