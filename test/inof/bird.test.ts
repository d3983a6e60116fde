/** BIRD as the reflectors of a cluster: 20 hosts, 4 switches, two BIRDs in a network namespace, one of which is killed. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { without } from '../support/tools.js'

t.test(
  'two BIRDs reflect presence and zones; one is killed, and comes back',
  { skip: without('bird', 'ip', 'unshare') },
  async t => {
    // The path of a control socket may be no longer than 107 bytes.
    const folder = mkdtempSync(join(tmpdir(), 'weir-inof-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    const program = join(import.meta.dirname, 'bird-cluster.js')
    const inside = ['--user', '--map-root-user', '--net', '--mount', '--kill-child', '--fork']
    const run = promisify(execFile)('unshare', [...inside, process.execPath, program, folder], {
      timeout: 90_000,
    })
    const { stdout, stderr } = await run.catch(error => error as { stdout: string; stderr: string })
    if (stdout === '') {
      t.fail(stderr)
      return
    }
    const seen = JSON.parse(stdout)
    t.comment(
      `sessions ${seen.signed ? 'with' : 'without'} MD5 signatures after ${seen.establishedMs} ms, arrival heard by all within ${seen.arrivalMs} ms, departure ${seen.departureMs} ms`,
    )
    t.equal(seen.lost, 0, 'no host hears of anything when a reflector dies')
    t.ok(seen.known)
    t.comment(`the reflector that restarts has all routes after ${seen.restart.ms} ms`)
    t.equal(seen.restart.heard, 0, 'no host hears of anything when it comes back')
    for (const peers of seen.restart.hosts) t.equal(peers, seen.restart.hosts.length - 1)
    t.match(seen.status[1], { state: 'established' })
    t.match(
      seen.zone,
      [{ address: 0x0a000002, zone: 7 }],
      'a zone that BIRD itself announces reaches the hosts',
    )
  },
)
