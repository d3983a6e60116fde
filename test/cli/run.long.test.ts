import t from 'tap'
import { CommandLines } from '../support/command-lines.js'
import { checkLostFlow } from './lost-flow.js'
import './run.test.js'

t.test('a flow whose connection is lost in real time', async t => {
  await checkLostFlow(t, new CommandLines(t), 'overlay')
})
