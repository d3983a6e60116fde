import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { WeirError } from '../../lib/errors.js'
import { packageFile } from '../../lib/scenario/package-file.js'
import { type Diagnosis, diagnose, type Verdict } from '../../switch-emu/lab/doctor.js'
import { defaultInbox } from './daemon.js'
import { commandOf } from './names.js'

/** `weir doctor` */
export function doctorCommand(): Command {
  return commandOf('doctor')
    .option('--json', 'print it as JSON: {checks, on, io, auto}')
    .action(async ({ json }: { json?: boolean }) => {
      const { engines } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8'))
      const diagnosis = await diagnose({ nodeLeast: engines.node, inbox: defaultInbox() })
      process.stdout.write(json ? `${JSON.stringify(diagnosis, null, 2)}\n` : print(diagnosis))
      if (Object.values(diagnosis.on).some(({ works }) => works)) return
      throw new WeirError('WEIR_UNSUPPORTED', 'nothing works on this machine: see the checks above')
    })
}

const MARKS = { ok: 'ok  ', warn: 'warn', fail: 'FAIL' } as const

function print({ checks, on, io, auto }: Diagnosis): string {
  const width = Math.max(...checks.map(({ name }) => name.length))
  const lines = checks.flatMap(({ name, status, found, affects, fix }) => {
    const line = `${MARKS[status]}  ${name.padEnd(width)}  ${found}`
    if (status === 'ok') return [line]
    const indent = ' '.repeat(width + 8)
    return [line, `${indent}affects: ${affects}`, ...(fix === undefined ? [] : [`${indent}fix: ${fix}`])]
  })
  const { packetInLabs, ...ways } = io
  return `${lines.join('\n')}\n\n${verdicts('weir run --on', on)}\n${verdicts('weir daemon --io', {
    ...ways,
    'packet, in labs': packetInLabs,
  })}  auto: takes ${auto.takes}${auto.why === undefined ? '' : ` (${auto.why})`}\n`
}

function verdicts(title: string, all: Record<string, Verdict>): string {
  const lines = Object.entries(all).map(([name, { works, why }]) =>
    works ? `  ${name}: works` : `  ${name}: does not work here (${why})`,
  )
  return `${title}\n${lines.join('\n')}\n`
}
