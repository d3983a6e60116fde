/** Telemetry that ordinary sockets cannot send, and names of encapsulations as users give them. */
import t from 'tap'
import { parseTelemetry } from '../../bin/commands/daemon.js'
import { checkTelemetry } from '../../lib/open-nic/check-telemetry.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { FORMAT_NAMES } from '../../lib/wire/telemetry/telemetry.js'

const V4 = HostAddress.parse('10.0.0.1')
const V6 = HostAddress.parse('fd00::1')

t.test('what lies before UDP is refused on sockets, and nothing else', async t => {
  for (const io of ['batch', 'dgram', 'raw']) {
    for (const format of ['wide', 'compact', 'p4-int-md'] as const) {
      for (const address of [V4, V6]) t.doesNotThrow(() => checkTelemetry(format, io, address))
    }
    t.doesNotThrow(() => checkTelemetry('ioam', io, V4))
    for (const [format, address] of [
      ['ifa', V4],
      ['ifa', V6],
      ['ioam', V6],
    ] as const) {
      t.throws(() => checkTelemetry(format, io, address), {
        code: 'WEIR_BAD_ARGUMENT',
        message: /use --io packet/,
      })
    }
  }
  for (const io of ['packet', 'vxlan']) {
    for (const format of FORMAT_NAMES) for (const address of [V4, V6]) checkTelemetry(format, io, address)
  }
})

t.test('--int', async t => {
  for (const format of FORMAT_NAMES) t.same(parseTelemetry(`${format}:15`), { format, hops: 15 })
  for (const [wrong, message] of [
    ['', /--int is FORMAT:HOPS, as in wide:5, not ""/],
    ['wide', /FORMAT:HOPS/],
    ['wide:5:5', /FORMAT:HOPS/],
    ['int:5', /the format is one of wide, compact, p4-int-md, ifa, ioam, not "int"/],
    ['IFA:5', /wide, compact, p4-int-md, ifa, ioam/],
    ['ifa:0', /the number of hops is a whole number from 1 to 15, not 0/],
    ['ioam:16', /1 to 15, not 16/],
    ['p4-int-md:x', /1 to 15, not "x"/],
  ] as const) {
    t.throws(() => parseTelemetry(wrong), { code: 'WEIR_BAD_ARGUMENT', message }, wrong)
  }
})
