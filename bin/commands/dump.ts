import type { Command } from 'commander'
import { WeirError } from '../../lib/errors.js'
import { UDP_PORT } from '../../lib/nic/nic-options.js'
import type { CommandOption } from '../../lib/options/option.js'
import { PORT_INT, PORT_ROCE } from '../../lib/wire/net/udp.js'
import { IFA_OPTION } from '../../lib/wire/telemetry/int-options.js'
import { type DumpSummary, dump } from './dump-packets.js'
import { commandOf } from './names.js'
import { addValueOptions, valuesOf } from './value-options.js'

const OPTIONS = [
  {
    ...UDP_PORT,
    doc: `UDP port that carries RoCEv2 beside ${PORT_ROCE}, telemetry at the next one, as of "weir daemon --port"`,
    command: {
      flag: '--port <port>',
      several: true,
      usual: `none; telemetry beside ${PORT_ROCE} is at ${PORT_INT}`,
    },
  },
  {
    ...IFA_OPTION,
    doc: 'IP protocol of IFA, as of "weir daemon --ifa-protocol"',
    // A capture has what it has.
    idle: [],
  },
] as const satisfies readonly CommandOption[]

/** `weir dump CAPTURE [--json] [--port PORT] [--ifa-protocol NUMBER]` */
export function dumpCommand(): Command {
  const command = commandOf('dump')
    .argument('<capture>', 'pcap or pcapng file; - is standard input')
    .option('--json', 'print the counts alone, as JSON')
  return addValueOptions(command, OPTIONS).action(runDump)
}

async function runDump(path: string, flags: { json?: boolean }): Promise<void> {
  const { json } = flags
  const { port, ifaProtocol } = valuesOf(OPTIONS, flags)
  try {
    const summary = await dump(path, json ? null : writeOut, port, ifaProtocol)
    await writeOut(`${json ? JSON.stringify(summary, null, 2) : printSummary(summary)}\n`)
    if (summary.fault !== undefined) throw new WeirError('WEIR_BAD_CAPTURE', summary.fault)
  } catch (error) {
    // A closed pipe (`weir dump … | head`) is no failure.
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
  }
}

function writeOut(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, error => (error ? reject(error) : resolve()))
  })
}

function printSummary(summary: DumpSummary): string {
  const {
    packets,
    roce,
    icrcOk,
    icrcOkAsMeant,
    icrcBad,
    icrcUnused = 0,
    malformed,
    cutShort,
    runs,
    fault,
  } = summary
  const missing = roce - icrcOk - icrcBad - icrcUnused
  const parts = [
    `${packets} packets`,
    `${roce} RoCEv2`,
    `${icrcOk} ICRCs right${icrcOkAsMeant === undefined ? '' : ` (${icrcOkAsMeant} with IP id 0)`}`,
    `${icrcBad} wrong`,
    ...(icrcUnused > 0 ? [`${icrcUnused} not used`] : []),
    ...(missing > 0 ? [`${missing} not captured`] : []),
    `${malformed} malformed`,
    ...(cutShort === undefined ? [] : [`${cutShort} captured too short to tell`]),
    ...(runs === undefined ? [] : [`${runs} runs of packets were captured whole`]),
    ...(fault === undefined ? [] : ['the rest could not be read']),
  ]
  return parts.join(', ')
}
