/** `weir demo` that is stopped. */
import { once } from 'node:events'
import t from 'tap'
import { shortFolder, startDemo, testStopped, until } from './demos.js'

testStopped('SIGINT', 130)
testStopped('SIGTERM', 143)

t.test('SIGKILL in the middle: the processes of the lab end by themselves', async t => {
  const { child, left, output } = startDemo(shortFolder(t), 50_000_000)
  await until(() => /MB at/.test(output()))
  child.kill('SIGKILL')
  await once(child, 'exit')
  await until(() => left().processes.length === 0)
  t.same(left().processes, [])
})
