import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { WeirError } from '../../lib/errors.js'
import { packageFile } from '../../lib/package-file.js'
import { fold } from '../../lib/scenario/result/fold.js'
import { columnsMost } from '../../lib/text-width.js'
import { type Diagnosis, type DoctorVerdict, diagnose } from '../../switch-emu/lab/doctor.js'
import { defaultInbox } from './daemon.js'
import { commandOf } from './names.js'

/** `weir doctor` */
export function doctorCommand(): Command {
  return commandOf('doctor')
    .option('--json', 'print it as JSON: {checks, on, io, auto}')
    .action(async ({ json }: { json?: boolean }) => {
      const { engines } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8'))
      const diagnosis = await diagnose({ nodeLeast: engines.node, inbox: defaultInbox() })
      process.stdout.write(
        json ? `${JSON.stringify(diagnosis, null, 2)}\n` : print(diagnosis, columnsMost(process.stdout)),
      )
      if (Object.values(diagnosis.on).some(({ works }) => works)) return
      throw new WeirError('WEIR_UNSUPPORTED', 'nothing works on this machine: see the checks above')
    })
}

const MARKS = { ok: 'ok  ', warn: 'warn', fail: 'FAIL' } as const

/** @param columns of the terminal */
export function print({ checks, on, io, auto }: Diagnosis, columns = Number.POSITIVE_INFINITY): string {
  const width = Math.max(...checks.map(({ name }) => name.length))
  const lines = checks.flatMap(({ name, status, found, affects, fix }) => {
    const line = `${MARKS[status]}  ${name.padEnd(width)}  ${found}`
    const indent = ' '.repeat(width + 8)
    const said = (text: string) => fold(text, columns, indent.length)
    if (status === 'ok') return [said(line)]
    // A fix is a command to copy, so it stays on one line.
    const fixes = fix === undefined ? [] : [`${indent}fix: ${fix}`]
    return [said(line), said(`${indent}affects: ${affects}`), ...fixes]
  })
  const { packetInLabs, ...ways } = io
  const ends = `${verdicts('weir run --on', on)}\n${verdicts('weir daemon --io', {
    ...ways,
    'packet, in labs': packetInLabs,
  })}  auto: takes ${auto.takes}${auto.why === undefined ? '' : ` (${auto.why})`}\n`
  return `${lines.join('\n')}\n\n${fold(ends, columns, 4)}`
}

function verdicts(title: string, all: Record<string, DoctorVerdict>): string {
  const lines = Object.entries(all).map(([name, { works, why }]) =>
    works ? `  ${name}: works` : `  ${name}: does not work here (${why})`,
  )
  return `${title}\n${lines.join('\n')}\n`
}
