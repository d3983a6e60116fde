/** What the modes of HPCC++ cost on the networks of `npm run bench -- hpcc-modes`, beside telemetry in every packet. */
import t from 'tap'
import { type ModeFigures, measureModes } from '../../bench/hpcc-modes.js'

const NETWORKS = ['dumbbell-100g', 'incast-16', 'five-hops']

function figures(mode: string): ModeFigures[] {
  return NETWORKS.map(network => {
    const [found, ...more] = measureModes([mode, network, '--starts', '1']).figures
    t.equal(more.length, 0)
    t.equal(found!.scenario, network)
    return found!
  })
}

const inband = figures('every packet, every ACK')

t.test(
  'probes cost under 2 % of the bytes, on every network, and control is what it is with one in each round trip',
  async t => {
    const each = figures('probes, each round trip')
    for (const [i, probes] of figures('probes').entries()) {
      t.ok(probes.telemetryByteShare < 0.02, `${probes.scenario}: ${probes.telemetryByteShare}`)
      t.ok(probes.utilization > each[i]!.utilization - 0.02, `utilization ${probes.utilization}`)
      t.ok(probes.peakQueueBytes < 1.05 * each[i]!.peakQueueBytes, `peak ${probes.peakQueueBytes}`)
      t.ok(probes.meanQueueBytes < 1.2 * each[i]!.meanQueueBytes + 1000, `mean ${probes.meanQueueBytes}`)
    }
  },
)

t.test('receiver-based: a fifth of the feedback packets at most, within 3 points of utilization', async t => {
  for (const [i, receiver] of figures('receiver-based').entries()) {
    const sender = inband[i]!
    const { scenario, feedbackPerData, utilization } = receiver
    t.ok(feedbackPerData * 5 <= sender.feedbackPerData, `${scenario}: ${feedbackPerData}`)
    t.ok(utilization > sender.utilization - 0.03, `${utilization} beside ${sender.utilization}`)
    t.ok(receiver.peakQueueBytes < 1.4 * sender.peakQueueBytes)
  }
})
