/** Where files go, by the rules of cp and scp, from the command line to the disk of the receiver. */
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { destinationOf } from '../../bin/commands/destination.js'
import { getCommand } from '../../bin/commands/get.js'
import { sendCommand } from '../../bin/commands/send.js'
import { weirProgram } from '../../lib/package-file.js'
import { DELIVERED_NAME } from '../../lib/transfer/protocol/names.js'
import { scratch } from '../support/daemon-process.js'
import { long, usual } from '../support/long.js'
import { reportOf } from '../support/transfer-report.js'
import { type Host, start } from './hosts.js'

async function pairWithFiles(
  t: Test,
): Promise<{ from: Host; to: Host; folder: string; a: string; b: string }> {
  const folder = await scratch(t)
  const [from, to] = await Promise.all([start(t, false), start(t, false, { share: folder })])
  const [a, b] = [join(folder, 'a'), join(folder, 'b')]
  await Promise.all([a, b].map(path => writeFile(path, path)))
  return { from: from!, to: to!, folder, a, b }
}

async function tree(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile() && entry.name !== DELIVERED_NAME)
  return files.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1)).sort()
}

usual('a path of the command line', async t => {
  const folder = (directory: string) => ({ directory, name: '', nameInFolder: '' })
  for (const path of ['', 'd/', 'd/e/', '.', './', 'd/.', 'd/..', '..', '/'])
    t.same(destinationOf(path, 'f', 1), folder(path), path)
  for (const path of ['d', 'd/e']) t.same(destinationOf(path, 'f', 2), folder(path), `${path} of two files`)
  t.same(destinationOf('n', 'f', 1), { directory: '', name: 'n', nameInFolder: 'f' })
  t.same(destinationOf('d/n', 'f', 1), { directory: 'd', name: 'n', nameInFolder: 'f' })
  t.same(destinationOf('./4791', 'f', 1), { directory: '', name: '4791', nameInFolder: 'f' })
  t.same(destinationOf('/d/.n', 'f', 1), { directory: '/d', name: '.n', nameInFolder: 'f' })
})

usual('send names a file anew, or puts it into a folder', async t => {
  const { from, to, folder, a, b } = await pairWithFiles(t)
  const { address, inbox } = to.options
  const send = (...args: string[]) =>
    sendCommand().parseAsync([...args, '--socket', from.options.socketPath], { from: 'user' })
  await send(a, `${address}:new.csv`)
  await send(a, `${address}:made/later/new`)
  await send(a, `${address}:made`)
  await send(a, `${address}:slash/`)
  await send(a, b, `${address}:both`)
  await send(b, `${address}:./both/../both2`).then(t.fail, error =>
    t.equal(error.code, 'WEIR_REJECTED', error.message),
  )
  await send(b, `weir://${address}:4791/url%20name`)
  t.same(await tree(inbox), [
    'both/a',
    'both/b',
    'made/a',
    'made/later/new',
    'new.csv',
    'slash/a',
    'url name',
  ])
  t.equal(await readFile(join(inbox, 'new.csv'), 'utf8'), a)
  await t.rejects(send(b, `${address}:new.csv`), {
    code: 'WEIR_FILE_EXISTS',
    message: /new\.csv is there already/,
  })
  await send(b, `${address}:new.csv`, '--overwrite')
  t.equal(await readFile(join(inbox, 'new.csv'), 'utf8'), b)
  await symlink(folder, join(inbox, 'out'))
  await t.rejects(send(b, `${address}:out`), { code: 'WEIR_REJECTED', message: /leads out of the inbox/ })
})

long('get does the same; one file makes no folder, several do', async t => {
  const { from: by, to, folder } = await pairWithFiles(t)
  const { address } = to.options
  const here = await scratch(t)
  await mkdir(join(here, 'there'))
  const get = (...args: string[]) =>
    getCommand().parseAsync([...args, '--socket', by.options.socketPath], { from: 'user' })
  await get(`${address}:a`, join(here, 'new'))
  await get(`${address}:a`, join(here, 'there'))
  await get(`${address}:a`, join(here, 'there', 'name'))
  await get(`${address}:a`, `weir://${address}:4791/b`, here)
  t.same(await tree(here), ['a', 'b', 'new', 'there/a', 'there/name'])
  const none = { code: 'WEIR_NO_FILE', message: /there is no such folder/ }
  await t.rejects(get(`${address}:a`, join(here, 'none', 'name')), none)
  await t.rejects(get(`${address}:a`, `${join(here, 'none')}/`), none)
  await get(`${address}:a`, `${address}:b`, join(here, 'none'))
  t.same(await tree(join(here, 'none')), ['a', 'b'])
  await t.rejects(get(`${address}:a`, `${address}:b`, join(folder, 'a')), {
    code: 'WEIR_NO_FILE',
    message: /it is no folder/,
  })
})

long('a sender that says only name and folder is understood as before', async t => {
  const { from, to, a } = await pairWithFiles(t)
  const { address, inbox } = to.options
  await from.client.send(a, address, { directory: 'd', name: 'n' })
  await t.rejects(from.client.send(a, address, { name: 'd' }), {
    code: 'WEIR_FILE_EXISTS',
    message: /d is a folder there/,
  })
  t.same(await tree(inbox), ['d/n'])
})

long('holes stay holes, there and back', async t => {
  const { from, to, folder } = await pairWithFiles(t)
  const path = join(folder, 'holes')
  await writeFile(path, 'begin')
  await truncate(path, 20e6)
  await from.client.send(path, to.options.address)
  const here = await scratch(t)
  await from.client.get(to.options.address, 'holes', { directory: here })
  for (const copy of [join(to.options.inbox, 'holes'), join(here, 'holes')]) {
    const { size, blocks } = await stat(copy)
    t.equal(size, 20e6)
    t.ok(blocks * 512 < 1e6, `${blocks} blocks`)
  }
})

const WEIR = weirProgram()

usual(
  'names that are no UTF-8',
  { skip: process.platform !== 'linux' && 'the kernel has to have the bytes of arguments' },
  async t => {
    const folder = await scratch(t)
    const [from, to] = await Promise.all([start(t, true), start(t, true, { share: folder })])
    const name = Buffer.from('caf\u00e9 \u00ff', 'latin1')
    const path = Buffer.concat([Buffer.from(`${folder}/`), name])
    await writeFile(path, 'bytes')
    // The shell passes bytes unchanged, which spawn does not.
    const quoted = [...name].map(byte => `\\${byte.toString(8).padStart(3, '0')}`).join('')
    const { address, inbox } = to!.options
    const weir = (line: string) => {
      const script = `N=$(printf '${quoted}'); cd '${folder}' && '${process.execPath}' '${WEIR}' ${line} --socket '${from!.options.socketPath}'`
      return new Promise<{ code: number; stdout: string; stderr: string }>(resolve => {
        execFile('/bin/sh', ['-c', script], (error, stdout, stderr) => {
          resolve({ code: error ? Number(error.code) : 0, stdout, stderr })
        })
      })
    }
    const sent = await weir(`send "$N" ${address} --json`)
    t.equal(sent.code, 0, sent.stderr)
    t.equal(reportOf(sent.stdout).files[0]!.path, 'caf\udce9 \udcff', 'as Python has it')
    const names = (await readdir(inbox, 'buffer')).filter(there => there.toString() !== DELIVERED_NAME)
    t.same(names, [name], 'byte for byte')
    const got = await weir(`get ${address}:"$N" "got $N"`)
    t.equal(got.code, 0, got.stderr)
    t.equal((await readFile(Buffer.concat([Buffer.from(`${folder}/got `), name]))).toString(), 'bytes')
    const missing = await weir(`send "missing $N" ${address}`)
    t.match(missing, { code: 1, stderr: /missing caf\\xe9 \\xff: no such file \(WEIR_NO_FILE\)/ })
  },
)
