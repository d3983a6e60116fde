/** What a request for windows contains, and that peers of every version read it alike. */
import t from 'tap'
import { ccOptionPlaces, ccOptions } from '../../lib/cc/catalogue.js'
import { RateRequest, readRequest } from '../../lib/nic/feedback/rate-request.js'
import * as rateRequest from '../../lib/wire/weir/rate-request.js'

const RX_HPCC = 'rx-hpcc'
const OPTION_PLACES = ccOptionPlaces(RX_HPCC)
const CONTEXT = { lineRateBps: 100e9, baseRttNs: 8000, mtuBytes: 1024, careful: false }

function written(careful: boolean, options: Record<string, number>): DataView {
  const view = new DataView(new ArrayBuffer(rateRequest.BYTES))
  new RateRequest({ ...CONTEXT, careful }, options, OPTION_PLACES).write(view, 0)
  return view
}

t.test('each option has a place, for ever', async t => {
  // A change of this list breaks connections with older hosts. New options get places after it.
  const places =
    'eta maxStage flows wAi minRate countFlows literal rateChange ackPackets lossReaction lossBeta'
  t.same(OPTION_PLACES, Object.fromEntries(places.split(' ').map((name, place) => [name, place])))
  t.same(
    ccOptions(RX_HPCC)
      .map(({ name }) => name)
      .filter(name => OPTION_PLACES[name] === undefined),
    [],
    'an option without a place would not reach the receiver',
  )
  for (const place of Object.values(OPTION_PLACES)) t.ok(place < rateRequest.OPTION_PLACES, `${place}`)
})

for (const careful of [false, true]) {
  t.test(`what was written is read, ${careful ? 'carefully' : 'at line rate'}`, async t => {
    const names = Object.keys(OPTION_PLACES)
    for (const name of names) {
      const { context, options } = readRequest(written(careful, { [name]: 0.25 }), 0, OPTION_PLACES)
      t.same(options, { [name]: 0.25 })
      t.same(context, { ...CONTEXT, careful })
    }
    const all = Object.fromEntries(names.map((name, i) => [name, i + 1]))
    t.same(readRequest(written(careful, all), 0, OPTION_PLACES), {
      context: { ...CONTEXT, careful },
      options: all,
    })
  })
}
