import { ccOptions } from '../../lib/cc/catalogue.js'
import { pathSettingTexts } from '../../lib/cc/path-settings.js'
import { telemetrySettingTexts } from '../../lib/cc/telemetry-settings.js'
import { keyOf } from '../../lib/options/option.js'
import { textOf } from '../../lib/options/value.js'
import { TRANSPORT_OPTIONS } from '../../lib/qp/transport-options.js'
import { DEFAULT_PRIORITY, hostDscps } from '../../lib/scenario/model/priorities.js'
import type { InofSettings, Scenario, TransportSettings } from '../../lib/scenario/model/scenario.js'
import { linksOf } from '../node-links.js'

/** Options of `weir daemon` for its place, by their names on its command line. */
type DaemonPlace = { socket: string; inbox: string } & Record<string, string>

/**
 * Returns the command line of the daemon for a host of a scenario. The daemon ends when its standard input
 * does.
 */
export function daemonArguments(scenario: Scenario, host: string, place: DaemonPlace): string[] {
  const { hosts, cc, transport, int, telemetry, paths, baseRttNs, inof } = scenario
  const options = {
    address: hosts.find(({ name }) => name === host)!.address,
    ...place,
    'line-rate': `${linksOf(scenario, host)[0]!.rateBps}bps`,
    cc: cc.name,
    // Only node:dgram cannot set DSCPs.
    ...(place.io !== 'dgram' && {
      priority: String(DEFAULT_PRIORITY),
      'dscp-of-priority': hostDscps(scenario, host).join(),
      ...(transport.cnpPriority !== undefined && { 'cnp-priority': String(transport.cnpPriority) }),
    }),
    ...(transport.untaggedCnps > 0 && { 'untagged-cnps': String(transport.untaggedCnps) }),
    int: `${int.format}:${int.hops}`,
    'log-level': 'warn',
    ...(inof !== undefined && { inof: announcementOf(inof, host) }),
    ...(int.ifaProtocol !== undefined && { 'ifa-protocol': String(int.ifaProtocol) }),
    ...(baseRttNs !== 'measured' && { 'base-rtt': `${baseRttNs}ns` }),
  }
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  args.push(...transportArguments(transport))
  for (const text of telemetrySettingTexts(telemetry)) args.push('--telemetry', text)
  for (const text of pathSettingTexts(paths)) args.push('--paths', text)
  for (const option of ccOptions(cc.name)) {
    const value = cc.options[option.name]
    if (value !== undefined) args.push('--cc-option', `${option.name}=${textOf(option, value)}`)
  }
  // The networks of labs reach no further than the lab.
  if (place['key-file'] === undefined) args.push('--insecure')
  // Many hosts share few cores: threads of their own would only cost them memory and time to start.
  return ['daemon', '--no-worker', '--until-stdin-ends', '--any-cc', ...args]
}

function announcementOf({ storage, silenceSeconds, failover }: InofSettings, host: string): string {
  return [host, Number(storage.includes(host)), silenceSeconds, Number(failover)].join(':')
}

/** A timeout of 0 leaves the choice to the host. */
function transportArguments(transport: TransportSettings): string[] {
  return TRANSPORT_OPTIONS.flatMap(option => {
    const value = (transport as object as Record<string, unknown>)[keyOf(option)]
    if (option.command === undefined || (option.kind === 'time' && value === 0)) return []
    const [flag = ''] = option.command.flag.split(' ')
    return [flag, textOf(option, value)]
  })
}
