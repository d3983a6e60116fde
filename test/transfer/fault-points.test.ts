/** A daemon that is killed at any point of the transfer protocol: the transfer goes on, and nothing is left over. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { connectDaemon, type DaemonClient } from '../../lib/client/daemon-client.js'
import { makeIdentityFile } from '../../lib/secure/identity-file.js'
import { keyText } from '../../lib/secure/key-text.js'
import { FAULT_POINTS, type FaultPoint } from '../../lib/transfer/fault-points.js'
import { isPartialName } from '../../lib/transfer/protocol/names.js'
import { Run, scratch } from '../support/daemon-process.js'
import { drawnShare, long, usual } from '../support/long.js'
import { loopbackAddress } from '../support/loopback.js'

/** Points that only a transfer which fails, is damaged or lasts longer reaches. */
const BESIDE: ReadonlySet<FaultPoint> = new Set(
  (['refuse', 'fail', 'ping', 'again', 'held', 'lost', 'missing'] as const).flatMap((body): FaultPoint[] => [
    `sends ${body}`,
    `takes ${body}`,
  ]),
)
const CHUNK = 16_384
const RETRIES = 60
const AT_ONCE = 4

/** Addresses of daemons that are gone: there are more kills than a process may have addresses. */
const free: string[] = []

/** A daemon that can be started again in its place. */
class Killable {
  readonly folder: string
  readonly address = free.pop() ?? loopbackAddress()
  readonly #t: Test
  #run: Run | null = null

  constructor(t: Test, folder: string) {
    this.#t = t
    this.folder = folder
    mkdirSync(join(folder, 'share'), { recursive: true })
  }

  get run(): Run {
    return this.#run!
  }

  async start(faultPoint = ''): Promise<void> {
    const at = (name: string) => join(this.folder, name)
    const files = ['--inbox', at('inbox'), '--share', at('share'), '--socket', at('s'), '--chunk', '16KiB']
    files.push('--allow-delete')
    const env = { WEIR_FAULT_POINT: faultPoint }
    if (existsSync(at('key'))) files.push('--identity', at('key'), '--peers', at('peers'))
    this.#run = new Run(this.#t, ['daemon', '--address', this.address, ...files], undefined, [], env)
    await this.#run.until(() => this.run.stderr.includes('"ready"'), 'it was ready')
  }

  async end(): Promise<void> {
    this.run.child.kill('SIGKILL')
    await this.run.ended
  }

  /** Ends it for good. */
  async leave(): Promise<void> {
    await this.end()
    free.push(this.address)
  }

  async client(): Promise<DaemonClient> {
    return await connectDaemon(join(this.folder, 's'))
  }
}

/** All files below a folder, with their contents. */
function contents(folder: string): Record<string, string> {
  if (!existsSync(folder)) return {}
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const files = names.filter(name => statSync(join(folder, name)).isFile() && name !== '.weir-delivered')
  return Object.fromEntries(files.map(name => [name, readFileSync(join(folder, name), 'base64')]))
}

function makeTree(folder: string): void {
  mkdirSync(join(folder, 'deep', 'er'), { recursive: true })
  // So many that they get their names last (short-files.ts).
  for (let i = 0; i < 20; i++) writeFileSync(join(folder, 'deep', `f${i}`), `contents ${i}`)
  writeFileSync(join(folder, 'deep', 'er', 'long'), Buffer.alloc(5 * CHUNK + 7, 'a longer one '))
}

/** What moves. `local` has the command, `remote` is the other end. */
interface Way {
  name: string
  prepare(local: Killable, remote: Killable): void
  move(client: DaemonClient, local: Killable, remote: Killable, again: boolean): Promise<unknown>
  /** Where it arrives, and what it was. */
  folders(local: Killable, remote: Killable): [from: string, to: string]
}

/** What the tree does not have. */
function makeMore(folder: string): void {
  for (const name of ['deep/old/er', 'gone']) {
    mkdirSync(join(folder, name), { recursive: true })
    for (let i = 0; i < 3; i++) writeFileSync(join(folder, name, `old${i}`), 'old')
  }
}

const many = { retries: RETRIES }
const deleting = { delete: true, deleteMost: 100 }
const WAYS: readonly Way[] = [
  {
    name: 'send a file',
    prepare: local => {
      mkdirSync(join(local.folder, 'from'))
      writeFileSync(join(local.folder, 'from', 'f'), Buffer.alloc(5 * CHUNK + 7, 'what is sent '))
    },
    move: (client, local, remote, again) =>
      client.send(join(local.folder, 'from', 'f'), remote.address, { ...many, overwrite: again }),
    folders: (local, remote) => [join(local.folder, 'from'), join(remote.folder, 'inbox')],
  },
  {
    name: 'send a tree',
    prepare: local => makeTree(join(local.folder, 'from')),
    move: (client, local, remote, again) =>
      client.sendTree([{ path: join(local.folder, 'from') }], remote.address, { ...many, overwrite: again }),
    folders: (local, remote) => [join(local.folder, 'from'), join(remote.folder, 'inbox')],
  },
  {
    name: 'get a file',
    prepare: (local, remote) => {
      mkdirSync(join(local.folder, 'to'))
      writeFileSync(join(remote.folder, 'share', 'f'), Buffer.alloc(5 * CHUNK + 7, 'what is got '))
    },
    move: (client, local, remote, again) =>
      client.get(remote.address, 'f', { ...many, directory: join(local.folder, 'to'), overwrite: again }),
    folders: (local, remote) => [join(remote.folder, 'share'), join(local.folder, 'to')],
  },
  {
    name: 'get a tree',
    prepare: (_local, remote) => makeTree(join(remote.folder, 'share', 'tree')),
    move: (client, local, remote, again) =>
      client.getTree(remote.address, ['tree/'], {
        ...many,
        directory: join(local.folder, 'to'),
        overwrite: again,
      }),
    folders: (local, remote) => [join(remote.folder, 'share', 'tree'), join(local.folder, 'to')],
  },
]

/** The same over several connections. */
const STREAMED: readonly Way[] = WAYS.map(way => ({
  ...way,
  name: `${way.name} over 2 streams`,
  move: (client, local, remote, again) => way.move(withStreams(client, 2), local, remote, again),
}))

/** Asks for so many of them with each transfer. */
function withStreams(client: DaemonClient, streams: number): DaemonClient {
  return new Proxy(client, {
    get: (target, name: keyof DaemonClient) => {
      const method = target[name] as (...args: unknown[]) => unknown
      return (...args: unknown[]) =>
        method.apply(target, [...args.slice(0, -1), { ...(args.at(-1) as object), streams }])
    },
  })
}

/** The same where more is at the destination than at the source. */
const DELETING: readonly Way[] = [
  {
    name: 'send a tree and delete',
    prepare: (local, remote) => {
      makeTree(join(local.folder, 'from'))
      makeMore(join(remote.folder, 'inbox', 'to'))
    },
    move: (client, local, remote, again) =>
      client.sendTree([{ path: join(local.folder, 'from') }], remote.address, {
        ...many,
        directory: 'to',
        overwrite: again,
        ...deleting,
      }),
    folders: (local, remote) => [join(local.folder, 'from'), join(remote.folder, 'inbox', 'to')],
  },
  {
    name: 'get a tree and delete',
    prepare: (local, remote) => {
      makeTree(join(remote.folder, 'share', 'tree'))
      makeMore(join(local.folder, 'to'))
    },
    move: (client, local, remote, again) =>
      client.getTree(remote.address, ['tree/'], {
        ...many,
        directory: join(local.folder, 'to'),
        overwrite: again,
        ...deleting,
      }),
    folders: (local, remote) => [join(remote.folder, 'share', 'tree'), join(local.folder, 'to')],
  },
]

/** @param isSealed they have keys, and know each other's */
async function placed(t: Test, way: Way, isSealed = false): Promise<[local: Killable, remote: Killable]> {
  const folder = await scratch(t)
  const local = new Killable(t, join(folder, 'l'))
  const remote = new Killable(t, join(folder, 'r'))
  way.prepare(local, remote)
  if (isSealed)
    for (const [own, other] of [
      [local, remote],
      [remote, local],
    ] as const) {
      const key = keyText(makeIdentityFile(join(own.folder, 'key')).publicKey)
      writeFileSync(join(other.folder, 'peers'), `${own.address} ${key}\n`)
    }
  return [local, remote]
}

function checkArrived(t: Test, way: Way, ends: [Killable, Killable], what: string): void {
  const [from, to] = way.folders(...ends)
  const arrived = contents(to)
  t.same(
    Object.keys(arrived).filter(name => isPartialName(name.split('/').at(-1)!)),
    [],
    `${what}: nothing is left`,
  )
  t.same(arrived, contents(from), `${what}: all is there`)
}

/** The points that each end reaches, in a transfer that nothing disturbs. */
async function pointsOf(t: Test, way: Way): Promise<FaultPoint[][]> {
  const ends = await placed(t, way)
  for (const end of ends) await end.start('say')
  const client = await ends[0].client()
  await way.move(client, ...ends, false)
  client.close()
  checkArrived(t, way, ends, 'undisturbed')
  for (const end of ends) await end.leave()
  return ends.map(({ run }) => [
    ...new Set([...run.stderr.matchAll(/^fault point: (.*)$/gm)].map(([, point]) => point as FaultPoint)),
  ])
}

/** Kills one end at a point, starts it again, and has the transfer go on. */
async function killAt(t: Test, way: Way, victim: 0 | 1, point: FaultPoint, isSealed = false): Promise<void> {
  const what = `${way.name}: the ${victim === 0 ? 'local' : 'other'} end ${point}`
  const ends = await placed(t, way, isSealed)
  await ends[1 - victim]!.start()
  await ends[victim]!.start(point)
  const client = await ends[0].client()
  const moved = way.move(client, ...ends, false).then(
    () => null,
    (error: Error) => error,
  )
  const { signal } = await ends[victim]!.run.ended
  t.equal(signal, 'SIGKILL', `${what}: it was killed`)
  await ends[victim]!.start()
  if (victim === 1) t.equal((await moved)?.message, undefined, `${what}: the command goes on`)
  else {
    t.match(await moved, { code: 'WEIR_DAEMON_UNREACHABLE' })
    await settled(ends[1])
    const again = await ends[0].client()
    await way.move(again, ...ends, true)
    again.close()
  }
  client.close()
  checkArrived(t, way, ends, what)
  for (const end of ends) await end.leave()
}

/** The other end still has the transfer of the daemon that was killed, until it finds that nobody is there. */
async function settled(end: Killable): Promise<void> {
  const client = await end.client()
  while ((await client.transfers()).some(({ progress }) => progress?.state === 'committing')) await sleep(20)
  client.close()
}

usual('a few points', async t => {
  await killAt(t, WAYS[0]!, 1, 'sends done')
  await killAt(t, WAYS[1]!, 1, 'named file')
  await killAt(t, WAYS[0]!, 0, 'sends commit')
  await killAt(t, WAYS[3]!, 1, 'takes wish')
  await killAt(t, DELETING[0]!, 1, 'deleted')
  await Promise.all([killAt(t, STREAMED[0]!, 1, 'sends credit'), killAt(t, STREAMED[2]!, 0, 'takes filled')])
})

const SEALED = [
  [0, 1, 'sends credit'],
  [0, 0, 'takes credit'],
  [2, 1, 'sends filled'],
  [2, 0, 'takes filled'],
  [1, 1, 'named file'],
  [3, 0, 'named file'],
] as const

for (const [which, test] of [
  [SEALED.slice(0, 3), usual],
  [SEALED.slice(3), long],
] as const)
  test('the same on sealed connections', async t => {
    await Promise.all(which.map(([way, victim, point]) => killAt(t, WAYS[way]!, victim, point, true)))
  })

long('every point, at either end, of files and trees, both ways', async t => {
  const reached = new Set<FaultPoint>()
  const kills: (() => Promise<void>)[] = []
  for (const way of [...WAYS, ...STREAMED, ...DELETING]) {
    for (const [victim, points] of (await pointsOf(t, way)).entries()) {
      t.comment(`${way.name}, ${victim === 0 ? 'local' : 'other'} end: ${points.join(', ')}`)
      for (const point of points) {
        reached.add(point)
        if (point !== 'sends ping' && point !== 'takes ping')
          kills.push(() => killAt(t, way, victim as 0 | 1, point))
      }
    }
  }
  // Most of the time they wait.
  const drawn = drawnShare(t, kills)
  for (let at = 0; at < drawn.length; at += AT_ONCE)
    await Promise.all(drawn.slice(at, at + AT_ONCE).map(kill => kill()))
  t.same(
    FAULT_POINTS.filter(point => !reached.has(point) && !BESIDE.has(point)),
    [],
    'all are reached',
  )
})
