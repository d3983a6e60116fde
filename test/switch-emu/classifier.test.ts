import t from 'tap'
import { FramePool, HEADER_SLOT_BYTES } from '../../lib/frame/frame-pool.js'
import { Classifier, type ClassifierOptions } from '../../switch-emu/core/forwarding/classifier.js'
import { buildFrame, type FrameSpec } from './build-frame.js'
import { HOST } from './helpers.js'

const V6 = Uint8Array.from([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])

function priorityOf(classifier: Classifier, spec: Partial<FrameSpec>): number {
  const pool = new FramePool(1, HEADER_SLOT_BYTES)
  return classifier.priority(buildFrame(pool, { from: HOST(0), to: HOST(1), ...spec }))
}

t.test('everything has priority 0 by default', async t => {
  const classifier = new Classifier()
  t.equal(priorityOf(classifier, { tos: 0xff }), 0)
  t.equal(priorityOf(classifier, { vlanPriority: 7 }), 0)
})

t.test('by DSCP, in IPv4 and IPv6', async t => {
  const classifier = new Classifier({ dscp: { 26: 3, 48: 6, 63: 7 } })
  for (const address of [{}, { from: V6, to: V6 }]) {
    t.equal(priorityOf(classifier, { ...address, tos: (26 << 2) | 2 }), 3)
    t.equal(priorityOf(classifier, { ...address, tos: 48 << 2 }), 6)
    t.equal(priorityOf(classifier, { ...address, tos: 0xff }), 7)
    t.equal(priorityOf(classifier, { ...address, tos: 27 << 2 }), 0)
  }
})

t.test('by PCP where there is a tag and a map for it', async t => {
  const classifier = new Classifier({ dscp: { 26: 3 }, pcp: { 5: 4 } })
  t.equal(priorityOf(classifier, { vlanPriority: 5, tos: 26 << 2 }), 4)
  t.equal(priorityOf(classifier, { vlanPriority: 1, tos: 26 << 2 }), 0)
  t.equal(priorityOf(classifier, { tos: 26 << 2 }), 3)
  t.equal(priorityOf(new Classifier({ dscp: { 26: 3 } }), { vlanPriority: 5, tos: 26 << 2 }), 3)
})

t.test('maps are checked', async t => {
  const wrong: ClassifierOptions[] = [
    { dscp: { 64: 1 } },
    { dscp: { 1: 8 } },
    { pcp: { 8: 1 } },
    { pcp: { 1: -1 } },
    { dscp: { 1: 0.5 } },
  ]
  for (const options of wrong) {
    t.throws(() => new Classifier(options), { code: 'WEIR_BAD_ARGUMENT' }, JSON.stringify(options))
  }
})
