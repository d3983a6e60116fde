/** `weir cc`: what it prints, at any width, and its JSON. */
import t from 'tap'
import { controllerJson, controllersText, controllerText } from '../../bin/commands/cc-display.js'
import { ccNames, ccOptions } from '../../lib/cc/catalogue.js'
import { describeController, describeControllers } from '../../lib/cc/describe-controller.js'
import { undocumented } from '../support/documented.js'

const WIDTHS = [40, 60, 80, 120, 200, Number.POSITIVE_INFINITY]

t.test('no line is wider than the terminal, and nothing is left out', async t => {
  for (const columns of WIDTHS) {
    const texts = [controllersText(describeControllers(), columns)]
    for (const one of describeControllers()) texts.push(controllerText(one, columns))
    for (const line of texts.join('').split('\n'))
      if (line.length > columns) t.notMatch(line.trim(), ' ', `${line} in ${columns} columns`)
    const [list = '', ...shown] = texts.map(text => text.replace(/\s+/g, ' '))
    for (const [i, name] of ccNames().entries()) {
      t.match(list, `${name} `, `${columns}: ${name} is in the list`)
      t.match(list, describeController(name).is, `${columns}: ${name}`)
      for (const { name: option, doc } of ccOptions(name)) {
        t.ok(shown[i]!.includes(` ${option}=`), `${columns}: ${name} ${option}`)
        t.ok(shown[i]!.includes(doc), `${columns}: ${name} ${option}`)
      }
    }
  }
})

t.test('the JSON: its fields are documented, and options have a range and a default', async t => {
  for (const name of ccNames()) {
    const shown = JSON.parse(JSON.stringify(controllerJson(describeController(name))))
    t.same(undocumented('controllers/README.md', shown), [])
    t.equal(shown.name, name)
    t.equal(shown.options.length, ccOptions(name).length)
    for (const option of shown.options) t.same(undocumented('controllers/README.md', option), [])
  }
  const cubic = JSON.parse(JSON.stringify(controllerJson(describeController('cubic'))))
  const timeout = cubic.options.find((option: { name: string }) => option.name === 'timeoutLeast')
  t.match(timeout, { kind: 'time', min: 0, max: 60e9, default: 200e6, defaultText: '200ms' })
  const hpcc = JSON.parse(JSON.stringify(controllerJson(describeController('hpcc'))))
  const wAi = hpcc.options.find((option: { name: string }) => option.name === 'wAi')
  t.match(wAi, { kind: 'bytes', default: null, defaultText: '' })
  const beta = hpcc.options.find((option: { name: string }) => option.name === 'lossBeta')
  t.match(beta, { effect: 'not while lossReaction is false' })
})
