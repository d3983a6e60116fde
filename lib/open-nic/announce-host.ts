/** A host announces itself to its switch, hears of others, and its flows leave paths that may have failed. */
import { WeirError } from '../errors.js'
import { FailedLinks } from '../inof/failed-links.js'
import { InofHostEnd } from '../inof/host-end.js'
import type { Nic } from '../nic/nic.js'
import type { Nanos } from '../time/nanos.js'
import { formatIpv4, HostAddress } from '../wire/net/address.js'
import { InofEvent } from '../wire/weir/inof-tlv.js'
import { systemRandom } from './random.js'

/** How a host announces itself. */
export interface InofAnnouncement {
  /** Its name for switches. */
  name: string
  storage: boolean
  /** Its switch forgets it after a silence of so long, 1 to 65,535. */
  silenceSeconds: number
  /** Flows take other paths when a link between switches fails. */
  failover: boolean
}

/** Throws WEIR_BAD_ARGUMENT where a host cannot announce itself. */
export function checkInof(
  { name }: InofAnnouncement,
  { address, io = 'auto', overlay }: { address: string; io?: string; overlay?: object },
): void {
  if (HostAddress.parse(address).family !== 4) {
    const text = `inof ${name}: iNOF knows IPv4 addresses alone, and this host has ${address}; leave inof out, or listen on an IPv4 address`
    throw new WeirError('WEIR_BAD_ARGUMENT', text)
  }
  if (overlay === undefined && io !== 'packet') {
    const text = `inof ${name}: io ${io} sends no LLDP frames; set io to packet, which needs CAP_NET_RAW, or leave inof out`
    throw new WeirError('WEIR_BAD_ARGUMENT', text)
  }
}

/** @param onArrival hears of members that have arrived */
export function announceHost(
  { name, storage, silenceSeconds, failover }: InofAnnouncement,
  nic: Nic,
  now: Nanos,
  onArrival: (host: HostAddress) => void = () => {},
): InofHostEnd {
  const links = new FailedLinks(nic)
  const end = new InofHostEnd(
    now,
    {
      address: nic.address.ipv4,
      sender: { mac: nic.settings.mac, name, port: 'nic' },
      kind: storage ? 1 : 0,
      epoch: (systemRandom()() | 1) >>> 0,
      silenceSeconds,
    },
    {
      linkChanged: (at, notice) => {
        if (failover) links.onNotice(at, notice)
      },
      peerChanged: (_at, { event, address }) => {
        if (event === InofEvent.ARRIVED) onArrival(HostAddress.parse(formatIpv4(address)))
      },
    },
  )
  nic.setLinkLocal(end)
  return end
}
