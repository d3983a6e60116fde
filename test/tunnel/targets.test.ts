/** Which targets the rules of --allow-tunnel allow. */
import t from 'tap'
import { AllowedTargets, parseTarget, showTarget } from '../../lib/tunnel/targets.js'
import { refusal } from '../nic/pair.js'

t.test('targets', async t => {
  for (const text of ['a.example:80', '10.0.0.1:65535', '[fd00::1]:1'])
    t.equal(showTarget(parseTarget(text, 'x')), text)
  const wrong = [
    'a',
    'a:',
    ':80',
    'a:0',
    'a:65536',
    'a:b',
    'fd00::1:80',
    '[a]:80',
    '[fd00::1]',
    'a b:80',
    '*:80',
    'a:*',
    '10.0.0.0/8:80',
  ]
  for (const text of wrong)
    t.match(
      refusal(() => parseTarget(text, 'TARGET'), 'WEIR_BAD_ARGUMENT'),
      text,
    )
  refusal(() => parseTarget(`${'a'.repeat(256)}:80`, 'TARGET'), 'WEIR_BAD_ARGUMENT')
})

t.test('rules', async t => {
  const rules = new AllowedTargets(['Web.example:80', '10.1.0.0/16:*', '192.0.2.7:22', '[fd00::/8]:443'])
  const named: [string, number, boolean][] = [
    ['web.example', 80, true],
    ['WEB.EXAMPLE.', 80, true],
    ['web.example', 81, false],
    ['xweb.example', 80, false],
    ['10.1.2.3', 9999, true],
    ['10.2.0.1', 80, false],
    ['192.0.2.7', 22, true],
    ['192.0.2.7', 23, false],
    ['192.0.2.8', 22, false],
    ['fd12::1', 443, true],
    ['fe80::1', 443, false],
    ['localhost', 22, false],
  ]
  for (const [host, port, isAllowed] of named)
    t.equal(rules.allowsName({ host, port }), isAllowed, `${host}:${port}`)
  t.ok(rules.allowsAddress('10.1.2.3', 1))
  t.notOk(rules.allowsAddress('192.0.2.7', 80))
  t.notOk(new AllowedTargets([]).mayAllow(80))
  t.ok(new AllowedTargets(['*:80']).allowsName({ host: 'anything', port: 80 }))
  t.notOk(new AllowedTargets(['*:80']).allowsName({ host: 'anything', port: 81 }))
  t.ok(new AllowedTargets(['*:*']).allowsAddress('::1', 1))
  for (const text of ['a', '10.0.0.0/33:80', 'name/8:80', '[fd00::/129]:80', ':*'])
    refusal(() => new AllowedTargets([text]), 'WEIR_BAD_ARGUMENT')
})
