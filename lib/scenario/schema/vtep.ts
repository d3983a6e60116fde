/** `vtep` of a scenario file: virtual networks over VXLAN. */
import * as z from 'zod'
import { formatMac, HostAddress, parseMac } from '../../wire/net/address.js'
import * as f from './fields.js'
import { key, mapping, part, requiredKey, requiredPart } from './keys.js'
import { field, valueField } from './value-field.js'

const outerAddress = field('IPv4 or IPv6 address', { type: 'string' }, value =>
  HostAddress.parse(value as string).toString(),
)

const mac = field('MAC address', { type: 'string', pattern: '^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$' }, value =>
  formatMac(parseMac(String(value))),
)

export const innerHostSchema = mapping(
  { title: 'a host behind a host', about: 'An address that a host of the scenario reaches behind itself.' },
  {
    address: requiredKey(f.address, { description: 'Its inner address.', example: '10.9.0.1' }),
    mac: requiredKey(mac, {
      description: 'Its MAC address, by which switches answer ARP for it.',
      example: '02:00:00:00:00:09',
    }),
  },
)

export const vtepEndSchema = mapping(
  {
    title: 'an end of tunnels',
    about:
      '`ends` is a mapping of names, or ranges of names, to these keys, or a list of names (`[s1, s2]`). An end is a switch; or a host of a lab, whose own system is the end, as with `ip link add type vxlan`.',
  },
  {
    address: key(outerAddress, {
      description: 'Its address in the underlay. Ends of one network have addresses of one family.',
      usual: '`10.254.x.y` of a switch, where x and y are its id; of a host its own address',
      example: '10.254.0.9',
    }),
    hosts: part(z.array(f.names).meta({ words: 'list of names and ranges' }), {
      description: 'The hosts behind a switch. They are linked to it.',
      usual: 'all hosts that are linked to it',
      example: ['h1'],
    }),
    inner: part(z.array(innerHostSchema).meta({ words: 'list of mappings' }), {
      description: 'What is behind a host.',
      usual: 'nothing; a host that is an end has something',
      example: [{ address: '10.9.0.1', mac: '02:00:00:00:00:09' }],
    }),
  },
)

const vni = f.whole(0, 0xff_ffff)
const VTEP_MTU = { min: 576, max: 4500 }

export const vtepSchema = mapping(
  {
    title: 'vtep',
    about:
      'A virtual network (RFC 7348): hosts reach each other through tunnels between its ends, and nobody else. A list of such mappings describes several. The underlay has routes to the ends alone. `ecn` of the ends and of the underlay acts on the outer header (ECN overlay, RFC 6040).',
  },
  {
    vni: requiredKey(vni, { description: 'Number of the virtual network, unique.', example: 100 }),
    ends: requiredPart(
      z
        .union([
          z.record(f.names.meta({ words: 'name' }), z.union([vtepEndSchema, z.null()])),
          z.array(f.names),
        ])
        .meta({ words: 'mapping of names or ranges to settings, or list of names' }),
      { description: 'The ends of its tunnels, two or more.', example: ['s1', 's2'] },
    ),
    ecn: key(
      valueField<'normal' | 'compatibility'>({ kind: 'choice', choices: ['normal', 'compatibility'] }),
      {
        description:
          'The outer ECN field: as the inner one (`normal`), or Not-ECT (`compatibility`), which carries no mark (RFC 6040, section 4.1).',
        default: 'normal',
        example: 'compatibility',
      },
    ),
    mtu: key(f.bytesBetween(VTEP_MTU.min, VTEP_MTU.max), {
      description:
        'Bytes of the longest IP packet that the links between the ends take. A tunnel needs 50 of them, 70 over IPv6. Longer packets are dropped; a file whose own packets are longer is refused.',
      default: 4500,
      example: '1600B',
    }),
  },
)
