/** A daemon that is stopped while another host measures it. That host gets an error. */
import t from 'tap'
import { variants } from '../support/long.js'
import { errorOf, pair } from './hosts.js'

for (const [test, op] of variants(
  [
    ['bw', 'write'],
    ['bw', 'send'],
    ['bw', 'read'],
    ['lat', 'send'],
  ] as const,
  1,
)) {
  t.test(`${test} ${op}`, async t => {
    const [from, to] = await pair(t, false)
    const [qps, depth] = test === 'lat' ? [1, 1] : [2, 16]
    const run = { host: to.options.address, test, op, size: 4096, qps, depth, durationNs: 60e9 }
    let isStopped = false
    const measured = from.client.perf(run, {
      onProgress: ({ bytes }) => {
        if (bytes === 0 || isStopped) return
        isStopped = true
        void to.daemon.close()
      },
    })
    const { code, message } = await errorOf(measured)
    t.equal(code, 'WEIR_CONNECTION_LOST')
    t.match(message, /gave the connection up: its daemon was stopped/)
  })
}
