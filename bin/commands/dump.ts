import type { Command } from 'commander'
import { WeirError } from '../../lib/errors.js'
import { IFA_PROTOCOL, ifaProtocolFault } from '../../lib/frame/ifa-protocol.js'
import { PORT_INT, PORT_ROCE } from '../../lib/wire/net/udp.js'
import { type DumpSummary, dump } from './dump-packets.js'
import { commandOf } from './names.js'
import { whole } from './option-values.js'

interface DumpFlags {
  json?: boolean
  port?: number[]
  ifaProtocol: number
}

/** `weir dump CAPTURE [--json] [--port PORT] [--ifa-protocol NUMBER]` */
export function dumpCommand(): Command {
  return commandOf('dump')
    .argument('<capture>', 'pcap or pcapng file; - is standard input')
    .option('--json', 'print the counts alone, as JSON')
    .option(
      '--port <port>',
      `UDP port that carries RoCEv2 beside ${PORT_ROCE}, telemetry at the next one, as of "weir daemon --port"; may be repeated (telemetry beside ${PORT_ROCE}: ${PORT_INT})`,
      (text: string, before: number[] = []) => [...before, whole('--port', text, 1, 65_534)],
    )
    .option(
      '--ifa-protocol <number>',
      `IP protocol of IFA, as of "weir daemon --ifa-protocol"`,
      ifaProtocol,
      IFA_PROTOCOL,
    )
    .action(runDump)
}

async function runDump(path: string, { json, port, ifaProtocol }: DumpFlags): Promise<void> {
  try {
    const summary = await dump(path, json ? null : writeOut, port, ifaProtocol)
    await writeOut(`${json ? JSON.stringify(summary, null, 2) : printSummary(summary)}\n`)
    if (summary.fault !== undefined) throw new WeirError('WEIR_BAD_CAPTURE', summary.fault)
  } catch (error) {
    // A closed pipe (`weir dump … | head`) is no failure.
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
  }
}

function ifaProtocol(text: string): number {
  const protocol = whole('--ifa-protocol', text, 0, 255)
  const fault = ifaProtocolFault(protocol)
  if (fault !== null) throw new WeirError('WEIR_BAD_ARGUMENT', `--ifa-protocol: ${fault}`)
  return protocol
}

function writeOut(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, error => (error ? reject(error) : resolve()))
  })
}

function printSummary(summary: DumpSummary): string {
  const { packets, roce, icrcOk, icrcOkAsMeant, icrcBad, malformed, cutShort, runs, fault } = summary
  const missing = roce - icrcOk - icrcBad
  const parts = [
    `${packets} packets`,
    `${roce} RoCEv2`,
    `${icrcOk} ICRCs right${icrcOkAsMeant === undefined ? '' : ` (${icrcOkAsMeant} with IP id 0)`}`,
    `${icrcBad} wrong`,
    ...(missing > 0 ? [`${missing} not captured`] : []),
    `${malformed} malformed`,
    ...(cutShort === undefined ? [] : [`${cutShort} captured too short to tell`]),
    ...(runs === undefined ? [] : [`${runs} runs of packets were captured whole`]),
    ...(fault === undefined ? [] : ['the rest could not be read']),
  ]
  return parts.join(', ')
}
