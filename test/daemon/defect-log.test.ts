/** What a daemon logs of defects that its NIC has survived. */
import t from 'tap'
import { DefectLog } from '../../lib/daemon/defect-log.js'
import type { Logger } from '../../lib/log.js'

/** A log that keeps the errors. */
function recorder(): { log: Logger; errors: unknown[] } {
  const errors: unknown[] = []
  const log = { error: ({ err }: { err: unknown }) => errors.push(err) } as unknown as Logger
  return { log, errors }
}

t.test('each kind of defect is logged once, with its stack', async t => {
  const { log, errors } = recorder()
  const defects = new DefectLog(log)
  const at = (name: string) => new Error(`defect of ${name}`)
  const first = at('one packet')
  const second = at('another packet')
  for (const defect of [first, second, first, 'text', 'text']) defects.add(defect)
  t.same(errors, [first, second, 'text'])
})

t.test('what differs at each packet does not fill the log', async t => {
  const { log, errors } = recorder()
  const defects = new DefectLog(log)
  for (let i = 0; i < 1000; i++) defects.add(new Error(`defect ${i}`))
  t.equal(errors.length, 64)
})
