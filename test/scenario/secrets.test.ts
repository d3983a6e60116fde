/** What results must not show: the key of hosts and the password of BGP sessions, wherever they stand in the file. */
import t from 'tap'
import { settingsOf } from '../../lib/scenario/model/settings.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'

const KEY = 'a key of sixteen bytes'

const scenarioText = (inof: string, more = '') => `
name: secrets
hosts: [h1, h2]
switches: [s1]
links: [h1..h2--s1]
inof: { external: true, ${inof} }
transport: { key: ${KEY} }
${more}
`

t.test('neither stands in the text or in the settings, and the file can be read again', async t => {
  for (const password of ['weir and dam', 's', '"a: b"']) {
    const value = password.replaceAll('"', '')
    const scenario = parseScenario(scenarioText(`password: ${password}`, `# ${KEY}, weir and dam`), 'x.yaml')
    t.match([scenario.inof!.password, scenario.transport.key], [value, KEY])
    const { text } = scenario
    t.notMatch(text, KEY)
    t.notMatch(text, `password: ${password}`)
    if (value.length >= 8) t.notMatch(text, value, 'nor in a comment')
    t.match(text, 'name: secrets\nhosts: [h1, h2]', 'a short one is not looked for within words')
    const again = parseScenario(text, 'x.yaml')
    t.equal(again.inof!.password, again.transport.key)
    const settings = JSON.stringify(settingsOf(scenario))
    t.notMatch(settings, KEY)
    t.notMatch(settings, `"password":"${value}"`)
  }
})

t.test('a password with an anchor, a key alone', async t => {
  const alias = parseScenario(scenarioText('password: &p weir and dam', 'watch: {}\n'), 'x.yaml')
  t.notMatch(alias.text, 'weir and dam')
  const key = parseScenario(scenarioText('hold: 9s'), 'x.yaml')
  t.notMatch(key.text, KEY)
  t.match(key.text, 'hold: 9s')
  t.equal(settingsOf(key).inof!.password, undefined)
})
