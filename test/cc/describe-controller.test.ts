/** What users read of controllers: it is whole, it is that of entries and tables, and each has a page. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { agreeOn, ccNames, ccOptions, controllerEntry } from '../../lib/cc/catalogue.js'
import { describeController, describeControllers } from '../../lib/cc/describe-controller.js'
import { PLAIN_OFFER } from '../../lib/cc/needs.js'
import { repositoryRoot } from '../support/fixtures.js'

t.test('each controller says all of itself, in phrases', async t => {
  for (const one of describeControllers()) {
    const { name, is, source, switches, host, loss, plainNetworks, foreignPeers, feedback } = one
    t.not(controllerEntry(name).about, undefined, name)
    for (const text of [is, source ?? 'none', loss, plainNetworks.how, foreignPeers.how, ...feedback]) {
      t.ok(text.length > 3, `${name}: "${text}"`)
      t.notMatch(text, /\.$|\|/, `${name}: ${text}`)
    }
    for (const text of [switches, host]) t.notMatch(text, /\.$|\||^[A-Z][a-z]/, `${name}: ${text}`)
  }
})

t.test('who cannot do without telemetry or marks says so of switches', async t => {
  for (const name of ccNames()) {
    const { telemetry = 'none', reverseTelemetry } = controllerEntry(name).needs
    const { switches, plainNetworks, otherwise } = describeController(name)
    if (telemetry === 'all' || reverseTelemetry !== undefined) {
      t.match(switches, /telemetry/, name)
      t.ok(!plainNetworks.works, `${name}: no telemetry, no window`)
    }
    if (otherwise !== '') t.ok(ccNames().includes(otherwise), `${name}: ${otherwise}`)
  }
})

t.test('what foreign peers refuse is what two ends would agree on', async t => {
  for (const name of ccNames()) {
    const { refused } = agreeOn({ name, options: {} }, PLAIN_OFFER)
    t.equal(describeController(name).foreignRefuses.length, refused.length, name)
  }
  t.same(describeController('cubic').foreignRefuses, ['telemetry'])
  t.same(describeController('fixed-window').foreignRefuses, [])
})

t.test('its constants are the table of options, and each names a section or is of Weir', async t => {
  for (const { name, options } of describeControllers()) {
    t.equal(options, ccOptions(name))
    for (const { name: option, doc } of options) t.ok(doc.length > 10, `${name} ${option}`)
  }
})

t.test('each has a page, which names its constants and no others', async t => {
  for (const name of ccNames()) {
    const page = join(repositoryRoot, 'docs', 'controllers', `${name}.md`)
    t.ok(existsSync(page), page)
    const text = readFileSync(page, 'utf8')
    t.match(text, new RegExp(`^# ${name}\n`, 'i'), page)
    t.match(text, new RegExp(`\\b${name}\\b`), `${page} says how to choose it`)
    const options = ccOptions(name).map(option => option.name)
    for (const [, row] of text.matchAll(/^\| ((?:`\w+`(?:, )?)+) \| [^|]+ \| [^|]+ \|$/gm))
      for (const [, option] of row!.matchAll(/`(\w+)`/g))
        if (/^[a-z]/.test(option!)) t.ok(options.includes(option!), `${page}: ${option}`)
  }
})

t.test('an unknown name', async t => {
  t.throws(() => describeController('reno'), { code: 'WEIR_BAD_ARGUMENT', message: /hpcc.*cubic/ })
})
