/** What `weir inof bird` prints is a configuration that BIRD takes, whatever names the scenario has. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { birdConfig } from '../../switch-emu/network/bird-config.js'
import { without } from '../support/tools.js'

const SCENARIO = `
name: "two lines\\nlog stderr all;"
hosts: [h1, h2, h3]
switches: [s-1, s_1, template]
links: [h1..h2--s-1, s-1--s_1, s_1--template, template--h3]
inof: { external: true, ttlSecurity: true, password: 'weir; \\ {and} dam', zones: [{ zone: 7, hosts: [h1, h3] }] }
`

t.test('names that are alike, that are words of its language, or that have two lines', async t => {
  const config = birdConfig(parseScenario(SCENARIO, 'birds.yaml'), 1)
  t.match(config, /^# Reflector 2 of 2 of two lines\?log stderr all;, for BIRD 2\.\nlog stderr \{/)
  for (const name of ['s-1', 's_1', 'template'])
    t.match(config, `protocol bgp 'client-${name}' from inof_switch {`)
  t.match(config, '  ttl security on;\n  password "weir; \\ {and} dam";\n')
  t.test('BIRD takes it', { skip: without('bird') }, async t => {
    const file = join(t.testdir({}), 'bird.conf')
    writeFileSync(file, config)
    t.equal(String(execFileSync('bird', ['-p', '-c', file], { stdio: 'pipe' })), '')
  })
})
