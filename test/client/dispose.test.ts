import t from 'tap'
import { DaemonClient } from '../../lib/client/daemon-client.js'

t.test('using closes the connection to the daemon', async t => {
  let closed = 0
  type Control = ConstructorParameters<typeof DaemonClient>[0]
  const control = { close: () => closed++ } as unknown as Control
  {
    using client = new DaemonClient(control)
    t.ok(client)
    t.equal(closed, 0)
  }
  t.equal(closed, 1)
})
