/** The catalogue of controllers and the checks of their options: what is refused, and with which message. */
import t, { type Test } from 'tap'
import { ccNames, ccOptions, ccWantsTelemetry, createCongestionControl } from '../../lib/cc/catalogue.js'
import type { OptionValues } from '../../lib/cc/options.js'
import { parseCcOptions } from '../../lib/cc/parse-options.js'
import { WeirError } from '../../lib/errors.js'
import { neededBeside } from '../../lib/options/idle.js'
import { boundsBeside } from './bounds-beside.js'

const CONTEXT = { lineRateBps: 10e9, baseRttNs: 20_000, mtuBytes: 1024 }

function refused(t: Test, call: () => unknown, ...words: (string | RegExp)[]): void {
  try {
    call()
    t.fail(`accepted, though ${words.join(', ')} was to be refused`)
  } catch (error) {
    t.ok(error instanceof WeirError, 'a WeirError')
    t.equal((error as WeirError).code, 'WEIR_BAD_ARGUMENT')
    for (const word of words) t.match((error as WeirError).message, word)
  }
}

t.test('every controller of the catalogue can be made with its defaults', async t => {
  t.ok(ccNames().includes('hpcc'))
  t.ok(ccNames().includes('fixed-window'))
  for (const name of ccNames()) {
    const cc = createCongestionControl(name, CONTEXT)
    t.equal(cc.name, name)
    const into = new Float64Array(32).fill(Number.NaN)
    cc.observe(into)
    for (const [i, variable] of cc.observed.entries()) {
      t.ok(Number.isFinite(into[i]!), `${name} writes ${variable}`)
    }
    t.ok(Number.isNaN(into[cc.observed.length]!), `${name} writes no more than it names`)
  }
})

t.test('only HPCC++ collects telemetry', async t => {
  t.equal(ccWantsTelemetry('hpcc'), true)
  t.equal(ccWantsTelemetry('fixed-window'), false)
})

t.test('an unknown name is refused with the names there are', async t => {
  for (const name of ['hpc', '', 'HPCC', 'toString', 'constructor', '__proto__']) {
    refused(t, () => createCongestionControl(name, CONTEXT), /hpcc/, /fixed-window/)
    refused(t, () => ccOptions(name), /hpcc/)
    refused(t, () => ccWantsTelemetry(name), /hpcc/)
  }
})

t.test('an unknown option is refused with the options there are', async t => {
  refused(t, () => createCongestionControl('hpcc', CONTEXT, { etta: 0.9 }), /hpcc/, /etta/, /eta, maxStage/)
  refused(t, () => createCongestionControl('fixed-window', CONTEXT, { eta: 0.9 }), /fixed-window/, /window/)
})

t.test('every option is held to its range, and its bounds are inside', async t => {
  for (const name of ccNames()) {
    for (const spec of ccOptions(name)) {
      const make = (value: number | boolean | string, beside: OptionValues = {}) =>
        createCongestionControl(name, CONTEXT, {
          ...neededBeside(ccOptions(name), spec),
          ...beside,
          [spec.name]: value,
        })
      if (spec.kind === 'flag') continue
      for (const bound of [spec.min, spec.max])
        t.ok(make(bound, boundsBeside(name, spec.name, bound)), `${name}: ${spec.name} = ${bound}`)
      const said = [name, spec.name, String(spec.min), String(spec.max)]
      for (const value of [
        spec.min - 1,
        spec.max + 1,
        Number.NaN,
        Number.POSITIVE_INFINITY,
        'many',
        '',
        true,
      ]) {
        refused(t, () => make(value), ...said)
      }
      if (spec.kind === 'count') refused(t, () => make(spec.min + 0.5), /whole number/)
      const standard = spec.default ?? spec.min
      t.ok(standard >= spec.min && standard <= spec.max, 'the default too')
      t.ok(spec.doc.length > 10, 'it is described')
    }
  }
})

t.test(
  'an option that has no effect beside the others is refused: in the library, on command lines',
  async t => {
    const lists: [controller: string, given: string[], ...words: RegExp[]][] = [
      ['hpcc', ['wAi=1000', 'countFlows=true'], /^hpcc: countFlows has no effect beside wAi: leave one/],
      ['hpcc', ['wAi=1000', 'flows=10'], /^hpcc: flows has no effect beside wAi: leave one of them out/],
      ['rx-hpcc', ['countFlows=true', 'wAi=0'], /^rx-hpcc: countFlows .* wAi/],
      ['auto', ['wAi=1000', 'flows=10'], /^auto: flows .* wAi/],
      ['auto', ['wAi=1000', 'countFlows=true'], /^auto: countFlows .* wAi/],
      [
        'rx-hpcc',
        ['literal=true', 'rateChange=0.1'],
        /rateChange .* while literal is true: .* literal to false/,
      ],
      ['rx-hpcc', ['literal=true', 'ackPackets=4'], /ackPackets .* literal/],
      ['cubic', ['hystart=false', 'cssRounds=3'], /cssRounds .* while hystart is false: .* hystart to true/],
      ['auto', ['hystart=false', 'hystartSamples=3'], /hystartSamples .* hystart/],
      ['hpcc', ['lossReaction=false', 'lossBeta=0.5'], /lossBeta .* lossReaction/],
      ['fixed-window', ['lossBeta=0.5'], /lossBeta has no effect while lossReaction is false/],
      ['swift', ['fsRange=0', 'fsMinCwnd=0.2'], /fsMinCwnd .* while fsRange is 0: .* set fsRange above 0$/],
    ]
    for (const [controller, given, ...words] of lists) {
      refused(t, () => parseCcOptions(controller, given), ...words)
      const options = Object.fromEntries(
        given.map(text => text.split('=')).map(([name, value]) => [name, numberOf(value!)]),
      )
      refused(t, () => createCongestionControl(controller, CONTEXT, options), ...words)
    }
  },
)

/** Options are sent as numbers: true and false are 1 and 0. */
function numberOf(text: string): number {
  return text === 'true' ? 1 : text === 'false' ? 0 : Number(text)
}

t.test('beside the same options a default is no contradiction, nor is what asks for nothing', async t => {
  for (const [controller, given] of [
    ['auto', ['wAi=1000']],
    ['rx-hpcc', ['wAi=1000']],
    ['rx-hpcc', ['wAi=1000', 'countFlows=false']],
    ['hpcc', ['flows=10', 'countFlows=true']],
    ['rx-hpcc', ['literal=true']],
    ['rx-hpcc', ['literal=false', 'rateChange=0.1']],
    ['cubic', ['hystart=false']],
    ['cubic', ['cssRounds=3']],
    ['hpcc', ['lossBeta=0.5']],
    ['fixed-window', ['lossReaction=true', 'lossBeta=0.5']],
  ] as const) {
    const options = parseCcOptions(controller, given)
    t.equal(createCongestionControl(controller, CONTEXT, options).name, controller, given.join(' '))
  }
})

t.test('numbers may come as text, as from a command line', async t => {
  const cc = createCongestionControl('fixed-window', CONTEXT, { window: '12345' })
  t.equal(cc.windowBytes(), 12_345)
})

t.test('the fixed window: one bandwidth-delay product at line rate, or as configured', async t => {
  const standard = createCongestionControl('fixed-window', CONTEXT)
  t.equal(standard.windowBytes(), 25_000, '10 Gbit/s x 20 us')
  t.equal(standard.rateBps(), 10e9)
  const told = createCongestionControl('fixed-window', CONTEXT, { window: 9000, rate: 1e9 })
  t.equal(told.windowBytes(), 9000)
  t.equal(told.rateBps(), 1e9)
  const fast = createCongestionControl('fixed-window', CONTEXT, { rate: 1e11 })
  t.equal(fast.rateBps(), 10e9, 'never faster than the link')
})
