/** `weir doctor`, on this machine and where something is missing. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { long, usual } from '../support/long.js'
import { cannotForbid, FORBIDDEN } from '../support/no-namespaces.js'
import { networkOfMachine, noLabs, Place, SMALL } from './support.js'

const skip = noLabs()

interface Check {
  name: string
  status: string
  found: string
  affects: string
  fix?: string
}

function checkOf({ checks }: { checks: Check[] }, name: string): Check | undefined {
  return checks.find(check => check.name === name)
}

/** Somebody who has the port for so many tries has it for good: a daemon, say. Another run of this test gives it back. */
const TRIES = 200
const TRY_MS = 100

/** Has the port that the doctor looks at until the test ends. False: somebody else has it. */
async function takePort(t: Test): Promise<boolean> {
  for (let tries = 0; tries < TRIES; tries++) {
    const socket = createSocket('udp4')
    socket.bind({ address: '127.0.0.1', port: 4792, exclusive: true })
    const isBound = await once(socket, 'listening').then(
      () => true,
      () => false,
    )
    if (isBound) {
      t.teardown(() => socket.close())
      return true
    }
    socket.close()
    await sleep(TRY_MS)
  }
  return false
}

usual(
  'JSON: every check says what it found; what is wrong, as a port that somebody has, says how to mend it',
  async t => {
    const isOurs = await takePort(t as Test)
    t.comment(isOurs ? 'the port is this test’s' : 'the port is somebody else’s')
    const place = new Place(t)
    const ended = await place.weir(['doctor', '--json'])
    t.equal(ended.code, 0, ended.stderr)
    const diagnosis = JSON.parse(ended.stdout)
    t.same(Object.keys(diagnosis), ['checks', 'on', 'io', 'auto'])
    for (const { name, status, found, affects, fix } of diagnosis.checks as Check[]) {
      t.match(status, /^(ok|warn|fail)$/, name)
      t.ok(found.length > 0 && affects.length > 0, name)
      if (status !== 'ok') t.ok(fix, `${name} has a fix`)
    }
    t.match(checkOf(diagnosis, 'port 4792'), { status: 'warn', found: 'in use', fix: /--port/ })
    t.match(checkOf(diagnosis, 'node'), { status: 'ok', found: process.version })
    t.same(diagnosis.on.virtual, { works: true })
    t.same(Object.keys(diagnosis.io), ['dgram', 'batch', 'raw', 'packet', 'packetInLabs'])
    t.equal(diagnosis.auto.takes, diagnosis.io.batch.works ? 'batch' : 'dgram')
    t.same(diagnosis.on.veth.works, skip === false, 'as the labs of this test see it')
    t.same(place.leftFiles(), [])
  },
)

long('what was tried is gone: interfaces, namespaces, processes', { skip }, async t => {
  const place = new Place(t)
  const before = networkOfMachine()
  const ended = await place.weir(['doctor'])
  t.match(ended.stdout, /^ok +veth +a pair was made$/m)
  t.match(ended.stdout, /^ok +captures +they see both directions/m)
  t.match(ended.stdout, /weir run --on\n {2}virtual: works\n {2}overlay: works\n {2}veth: works/)
  const mine = (names: string[]) => names.filter(name => /^weir[01]$/.test(name))
  t.same(mine(networkOfMachine().interfaces), mine(before.interfaces))
  t.same(place.processes(), [])
})

usual('without iproute2: said, with the package, and the overlay as the way out', { skip }, async t => {
  const place = new Place(t)
  const path = join(place.folder, 'bin')
  mkdirSync(path)
  for (const name of ['sh', 'unshare', 'nsenter', 'mount', 'true']) {
    const found = ['/usr/bin', '/bin', '/usr/sbin'].map(folder => join(folder, name)).find(existsSync)
    symlinkSync(found!, join(path, name))
  }
  const diagnosis = JSON.parse((await place.process(['doctor', '--json'], [], path)).stdout)
  t.match(checkOf(diagnosis, 'iproute2'), { status: 'fail', fix: /apt-get install iproute2/ })
  t.match(diagnosis.on, {
    virtual: { works: true },
    overlay: { works: true },
    veth: { works: false, why: /iproute2/ },
  })
  const up = await place.process(['lab', 'up', place.file('small.yaml', SMALL)], [], path)
  t.equal(up.code, 1)
  t.match(up.stderr, /apt-get install iproute2.*weir doctor.*--on overlay.*WEIR_UNSUPPORTED/)
  t.same(place.leftFiles(), [])
})

long(
  'without util-linux: the command and its package',
  { skip: process.platform !== 'linux' && 'labs need Linux' },
  async t => {
    const place = new Place(t)
    const path = join(place.folder, 'bin')
    mkdirSync(path)
    const diagnosis = JSON.parse((await place.process(['doctor', '--json'], [], path)).stdout)
    t.match(checkOf(diagnosis, 'namespaces'), { status: 'fail', fix: 'sudo apt-get install util-linux' })
    const up = await place.process(['lab', 'up', place.file('small.yaml', SMALL)], [], path)
    t.equal(up.code, 1)
    t.match(up.stderr, /\(there is no command unshare\)\. Fix: sudo apt-get install util-linux\./)
  },
)

usual(
  'where the kernel forbids namespaces: what, why, the fix',
  {
    skip: cannotForbid(),
  },
  async t => {
    const place = new Place(t)
    const ended = await place.process(['doctor', '--json'], FORBIDDEN)
    t.equal(ended.code, 0, ended.stderr)
    const diagnosis = JSON.parse(ended.stdout)
    t.match(checkOf(diagnosis, 'namespaces'), { status: 'fail', fix: /sysctl user\.max_user_namespaces/ })
    t.match(diagnosis.on, { overlay: { works: true }, veth: { works: false } })
    for (const args of [
      ['lab', 'up', place.file('small.yaml', SMALL)],
      ['run', place.file('run.yaml', SMALL), '--on', 'veth'],
    ]) {
      const refused = await place.process(args, FORBIDDEN)
      t.equal(refused.code, 1)
      t.match(
        refused.stderr,
        /no network namespaces.*turned off.*max_user_namespaces=15000.*--on overlay.*WEIR_UNSUPPORTED/,
      )
    }
    t.same(place.leftFiles(), [])
  },
)
