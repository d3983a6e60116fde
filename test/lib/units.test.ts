import fc from 'fast-check'
import t from 'tap'
import {
  formatBytes,
  formatDuration,
  formatPercent,
  formatRate,
  parseBytes,
  parseDuration,
  parseFraction,
  parseRate,
} from '../../lib/units/units.js'
import { fixedSeed } from '../support/seeds.js'

const seed = fixedSeed(t, 20261121)

t.test('rates', async t => {
  const cases: [string, number][] = [
    ['1Gbps', 1e9],
    ['100Mbps', 1e8],
    ['2.5Gbps', 2_500_000_000],
    ['64Kbps', 64_000],
    ['64kbps', 64_000],
    ['1bps', 1],
    ['1.6Tbps', 1_600_000_000_000],
    [' 400 Gbps ', 4e11],
    ['10Gbit/s', 1e10],
    ['0.001Kbps', 1],
  ]
  for (const [text, bps] of cases) t.equal(parseRate(text), bps, text)
})

t.test('times', async t => {
  const cases: [string, number][] = [
    ['50us', 50_000],
    ['1.5us', 1500],
    ['8.32us', 8320],
    ['12.32us', 12_320],
    ['4.16us', 4160],
    ['1.1ms', 1_100_000],
    ['0.3s', 300_000_000],
    ['2min', 120e9],
    ['1h', 3600e9],
    ['7ns', 7],
    ['50\u00b5s', 50_000],
    ['3\u03bcs', 3000],
    ['0', 0],
    ['.5us', 500],
  ]
  for (const [text, ns] of cases) t.equal(parseDuration(text), ns, text)
})

t.test('sizes: 1000 for KB, 1024 for KiB', async t => {
  const cases: [string, number][] = [
    ['52B', 52],
    ['4MB', 4_000_000],
    ['500KB', 500_000],
    ['500kB', 500_000],
    ['1.5KB', 1500],
    ['1KiB', 1024],
    ['32MiB', 33_554_432],
    ['1.5GiB', 1_610_612_736],
    ['2GB', 2e9],
    ['1TB', 1e12],
    ['1TiB', 2 ** 40],
    ['1500', 1500],
    ['0B', 0],
  ]
  for (const [text, bytes] of cases) t.equal(parseBytes(text), bytes, text)
})

t.test('shares', async t => {
  for (const [text, share] of [
    ['20%', 0.2],
    ['0.2', 0.2],
    ['100%', 1],
    ['0', 0],
    ['12.5 %', 0.125],
    ['1', 1],
  ] as const) {
    t.equal(parseFraction(text), share, text)
  }
})

t.test('an error names the text, the mistake and the accepted forms', async t => {
  const cases: [(text: string) => number, string, RegExp[]][] = [
    [parseRate, '1Gbs', [/'1Gbs'/, /'Gbs' is not known/, /bps, Kbps, Mbps, Gbps, Tbps/]],
    [parseRate, '100', [/'100'/, /unit is missing/, /100Mbps/]],
    [parseRate, '0Gbps', [/above zero/]],
    [parseRate, '0.5bps', [/no whole number of bps/]],
    [parseRate, 'fast', [/'fast'/, /no number with a unit/]],
    [parseRate, '', [/''/]],
    [parseRate, '1GB', [/'GB' is not known/]],
    [parseDuration, '0.3ns', [/'0.3ns'/, /no whole number of ns/]],
    [parseDuration, '5', [/unit is missing/, /ns, us, ms, s, min, h/]],
    [parseDuration, '-5us', [/negative/]],
    [parseDuration, '5sec', [/'sec' is not known/]],
    [parseDuration, '1e9s', [/'1e9s'/]],
    [parseDuration, '3000h', [/too large/]],
    [parseBytes, '4Mb', [/'Mb' is not known/, /by 1024/]],
    [parseBytes, '1.5', [/unit is missing/]],
    [parseBytes, '0.5B', [/no whole number of bytes/]],
    [parseBytes, '1.2.3KB', [/'1.2.3KB'/]],
    [parseBytes, '4 M B', [/'4 M B'/]],
    [parseBytes, 'constructor', [/'constructor'/]],
    [parseBytes, '4constructor', [/'constructor' is not known/]],
    [parseFraction, '120%', [/more than the whole/, /20% or 0.2/]],
    [parseFraction, 'half', [/'half'/, /0 to 1/]],
  ]
  for (const [parse, text, essentials] of cases) {
    try {
      parse(text)
      t.fail(`'${text}' was accepted`)
    } catch (error) {
      t.match(error, { name: 'WeirError', code: 'WEIR_BAD_ARGUMENT' })
      for (const essential of essentials) t.match((error as Error).message, essential, text)
    }
  }
})

t.test('printing', async t => {
  t.equal(formatRate(1e9), '1Gbps')
  t.equal(formatRate(94_345_678), '94.35Mbps')
  t.equal(formatRate(0), '0bps')
  t.equal(formatRate(999_960_000), '1Gbps', 'a figure that rounds to 1000 moves to the next unit')
  t.equal(formatRate(999_900_000), '999.9Mbps')
  t.equal(formatRate(123_456e12), '123456Tbps')
  t.equal(formatBytes(52), '52B')
  t.equal(formatBytes(110_090), '110.1KB')
  t.equal(formatBytes(4e6), '4MB')
  t.equal(formatBytes(-1500), '-1.5KB')
  t.equal(formatDuration(8320), '8.32us')
  t.equal(formatDuration(999), '999ns')
  t.equal(formatDuration(3.5e9), '3.5s')
  t.equal(formatDuration(120e9), '2min')
  t.equal(formatDuration(7200e9), '2h')
  t.equal(formatDuration(75.5e9), '75.5s')
  t.equal(formatDuration(Number.NaN), '-')
  t.equal(formatDuration(Number.POSITIVE_INFINITY), '-')
  t.equal(formatPercent(0.9312), '93.1%')
  t.equal(formatPercent(Number.NaN), '-')
})

t.test('what is printed parses back to within half of the fourth digit', async t => {
  const quantity = fc.double({ min: 1, max: 8e15, noNaN: true }).map(Math.floor)
  const pairs: [(n: number) => string, (text: string) => number][] = [
    [formatRate, parseRate],
    [formatBytes, parseBytes],
    [formatDuration, parseDuration],
  ]
  for (const [format, parse] of pairs) {
    fc.assert(
      fc.property(quantity, n => Math.abs(parse(format(n)) / n - 1) <= 0.5e-3),
      { seed, numRuns: 500 },
    )
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9999 }), fc.integer({ min: 0, max: 9 }), (digits, zeros) => {
        const n = digits * 10 ** zeros
        return parse(format(n)) === n
      }),
      { seed, numRuns: 500 },
    )
  }
  t.pass('3000 round trips')
})

t.test('a decimal of up to nine places in seconds is read exactly', async t => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 999 }), fc.integer({ min: 0, max: 999_999_999 }), (whole, ns) => {
      return parseDuration(`${whole}.${String(ns).padStart(9, '0')}s`) === whole * 1e9 + ns
    }),
    { seed, numRuns: 1000 },
  )
  t.pass('1000 values')
})
