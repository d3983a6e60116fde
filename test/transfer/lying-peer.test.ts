/**
 * Transfers with a peer that lies, in every role, by seed: sizes, positions, names, links, digests, counts, messages twice, out of turn or
 * broken. The honest end touches nothing outside of its folder, ends, and gives everything back.
 */
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { type SendWork, WorkOpcode } from '../../lib/qp/queues/work.js'
import { Random } from '../../lib/sim/random.js'
import type { TransferService } from '../../lib/transfer/service.js'
import { scratch } from '../support/daemon-process.js'
import { type FakeVerbs, fakePair } from '../support/fake-verbs.js'
import { long, usual } from '../support/long.js'
import { drawnSeed } from '../support/seeds.js'
import { CHUNK } from '../support/transfer-bench.js'
import { serviceIn } from '../support/transfer-service.js'
import { Liar } from './liars.js'

const never = new AbortController().signal

/** Roles of the end that is honest. */
const ROLES = [
  'receiver',
  'tree receiver',
  'server',
  'tree server',
  'sender',
  'tree sender',
  'getter',
  'tree getter',
] as const
type Role = (typeof ROLES)[number]

async function hostIn(folder: string, verbs: FakeVerbs): Promise<TransferService> {
  return await serviceIn(folder, verbs, { allowsDeletion: true, transfersMax: 2 })
}

function makeFiles(folder: string): void {
  mkdirSync(join(folder, 'tree', 'sub'), { recursive: true })
  writeFileSync(join(folder, 'f'), Buffer.alloc(9 * CHUNK + 5, 'a file '))
  for (const name of ['a', 'b', 'sub/c']) writeFileSync(join(folder, 'tree', name), name)
  writeFileSync(join(folder, 'tree', 'long'), Buffer.alloc(3 * CHUNK, 'long '))
  symlinkSync('a', join(folder, 'tree', 'link'))
}

/** Both hosts, with something outside that links in their folders lead to. */
function makePlace(root: string): void {
  mkdirSync(join(root, 'outside'), { recursive: true })
  writeFileSync(join(root, 'outside', 'precious'), 'precious')
  writeFileSync(join(root, 'precious'), 'precious')
  for (const host of ['a', 'b']) {
    const folder = join(root, host)
    for (const name of ['in', 'share', 'to']) {
      mkdirSync(join(folder, name), { recursive: true })
      symlinkSync('../../outside', join(folder, name, 'out'))
    }
    writeFileSync(join(folder, 'precious'), 'precious')
    makeFiles(join(folder, 'share'))
    mkdirSync(join(folder, 'from'))
    makeFiles(join(folder, 'from'))
    mkdirSync(join(folder, 'in', 'tree', 'old'), { recursive: true })
    writeFileSync(join(folder, 'in', 'tree', 'old', 'x'), 'old')
  }
}

/** A line for each thing below a folder, but for what is in `except`. */
function linesOf(folder: string, except: string, below = ''): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap(entry => {
    const path = join(below, entry.name)
    if (path === except) return []
    const own = join(folder, path)
    if (entry.isDirectory()) return [path, ...linesOf(folder, except, path)]
    const content = entry.isSymbolicLink() ? readlinkSync(own) : readFileSync(own, 'latin1')
    return [`${path} ${lstatSync(own).mode.toString(8)} ${content}`]
  })
}

/** Links below a folder that lead out of it, but for the one that was there. */
function linksOut(folder: string, below = ''): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap(entry => {
    const path = join(below, entry.name)
    if (entry.isDirectory()) return linksOut(folder, path)
    if (!entry.isSymbolicLink() || path === 'out') return []
    const target = readlinkSync(join(folder, path))
    return target.startsWith('/') || normalize(join(dirname(path), target)).startsWith('..') ? [path] : []
  })
}

/** Files of the liar that have what the honest end does not share. */
function stolen(folder: string, below = ''): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap(entry => {
    const path = join(below, entry.name)
    if (entry.isDirectory()) return stolen(folder, path)
    return entry.isFile() && readFileSync(join(folder, path), 'latin1').includes('precious') ? [path] : []
  })
}

/** Names that lead out of each folder of a host: up, absolute, through a link that is there, or cut off. */
function namesOutside(root: string): readonly string[] {
  return [
    '..',
    '../..',
    '../../new',
    '../new',
    '../precious',
    '../../outside',
    '../../../outside',
    '../../outside/precious',
    'sub/../../..',
    'out',
    'out/precious',
    '../out',
    join(root, 'outside'),
    join(root, 'outside', 'precious'),
    '..\0',
    'precious\0',
  ]
}

interface Way {
  /** Who is asked for the transfer: the end that lies, or the honest one. */
  by: 'liar' | 'honest'
  start(service: TransferService, root: string, host: string, own: string, streams: number): Promise<unknown>
  /** Where the honest end may write, in its folder; '' = nowhere. */
  writes: string
}

const all = { overwrite: true, retries: 1 }
const send: Way['start'] = (service, root, host, own, streams) =>
  service.send({ path: join(root, own, 'from', 'f'), host, ...all, streams }, never, () => {})
const sendTree: Way['start'] = (service, root, host, own, streams) =>
  service.sendTree(
    {
      roots: [{ path: join(root, own, 'from', 'tree'), name: 'tree' }],
      host,
      ...all,
      streams,
      delete: true,
      deleteMost: 1000,
    },
    never,
    () => {},
  )
const get: Way['start'] = (service, root, host, own, streams) =>
  service.get({ path: 'f', host, directory: join(root, own, 'to'), ...all, streams }, never, () => {})
const getTree: Way['start'] = (service, root, host, own, streams) =>
  service.getTree(
    {
      paths: ['tree'],
      host,
      directory: join(root, own, 'to'),
      ...all,
      streams,
      delete: true,
      deleteMost: 1000,
    },
    never,
    () => {},
  )

const WAYS: Record<Role, Way> = {
  receiver: { by: 'liar', start: send, writes: 'in' },
  'tree receiver': { by: 'liar', start: sendTree, writes: 'in' },
  server: { by: 'liar', start: get, writes: '' },
  'tree server': { by: 'liar', start: getTree, writes: '' },
  sender: { by: 'honest', start: send, writes: '' },
  'tree sender': { by: 'honest', start: sendTree, writes: '' },
  getter: { by: 'honest', start: get, writes: 'to' },
  'tree getter': { by: 'honest', start: getTree, writes: 'to' },
}

async function lie(t: Test, root: string, role: Role, seed: number): Promise<number> {
  makePlace(root)
  const random = new Random(seed)
  const outside = random.next() < 0.5 ? namesOutside(root) : null
  const share = outside === null ? [0.05, 0.2, 0.5, 0.9][Math.floor(random.next() * 4)]! : 0
  const liar = new Liar(random, share, outside)
  const [a, b] = fakePair()
  const lying = await hostIn(join(root, 'a'), a)
  const honest = await hostIn(join(root, 'b'), b)
  const { by, start, writes } = WAYS[role]
  const except = join('b', writes)
  const before = linesOf(root, except).filter(line => !line.startsWith('a'))
  const streams = 1 + 2 * Math.floor(random.next() * 2)
  // Further connections, which have no messages, fail now and then.
  const first = new Set<number>()
  const isLost = ({ opcode }: SendWork, connection: number) => {
    if (opcode === WorkOpcode.SEND) first.add(connection)
    return !first.has(connection) && random.next() < 0.1
  }
  a.hook = (from, work, bytes, index, connection) =>
    isLost(work, connection) ? 'lose' : liar.hook(from, work, bytes, index, connection)
  b.hook = (_from, work, _bytes, _index, connection) => (isLost(work, connection) ? 'lose' : undefined)
  const [starts, host, own] = by === 'liar' ? [lying, b, 'a'] : [honest, a, 'b']
  let ended = false
  const moved = start(starts, root, host.address.toString(), own, streams)
    .catch(() => {})
    .finally(() => {
      ended = true
    })
  // A peer may wait for what never comes. Then both close.
  for (let operations = -1; !ended && operations !== a.operations + b.operations; await sleep(30))
    operations = a.operations + b.operations
  await Promise.all([lying.close(2000), honest.close(2000), moved])
  const what = `${role}, SEED=${seed}`
  const after = linesOf(root, except).filter(line => !line.startsWith('a'))
  if (JSON.stringify(after) !== JSON.stringify(before))
    t.same(after, before, `${what}: nothing outside is touched`)
  if (writes !== '') {
    const out = linksOut(join(root, 'b', writes))
    if (out.length > 0) t.same(out, [], `${what}: no link leads out`)
  }
  const taken = stolen(join(root, 'a', 'to'))
  if (taken.length > 0) t.same(taken, [], `${what}: nothing is read that is not shared`)
  if (honest.count + b.memory.size + b.open > 0)
    t.same([honest.count, b.memory.size, b.open], [0, 0, 0], `${what}: all was given back`)
  rmSync(root, { recursive: true, force: true })
  return liar.lies
}

async function rounds(t: Test, count: number): Promise<void> {
  const seed = drawnSeed(t)
  let lies = 0
  const residentBefore = process.memoryUsage().rss
  const folder = await scratch(t)
  for (let i = 0; i < count; i++)
    lies += await lie(t, join(folder, String(i)), ROLES[(seed + i) % ROLES.length]!, seed + i)
  t.ok(lies > 0, `${lies} lies in ${count} transfers`)
  const grown = (process.memoryUsage().rss - residentBefore) / 1e6
  t.comment(`${Math.round(grown)} MB more resident`)
  t.ok(grown < 400, 'memory is bounded')
}

usual('a peer that lies, in every role', t => rounds(t, 120))
long('a peer that lies, in every role: hundreds of times', t => rounds(t, 600))
