/** RFC 6040: the ECN field at both ends of a tunnel. The literals are those of its figures 3 and 4. */
import t from 'tap'
import { ECN_DROP, ecnAtEgress, isDangerous, outerEcn } from '../../switch-emu/core/vxlan/ecn-tunnel.js'

/** RFC 3168, section 5. */
const NOT_ECT = 0b00
const ECT1 = 0b01
const ECT0 = 0b10
const CE = 0b11
const DROP = ECN_DROP

t.test('figure 3: normal mode copies, compatibility mode writes Not-ECT', async t => {
  for (const [inner, compatibility, normal] of [
    [NOT_ECT, NOT_ECT, NOT_ECT],
    [ECT0, NOT_ECT, ECT0],
    [ECT1, NOT_ECT, ECT1],
    [CE, NOT_ECT, CE],
  ] as const) {
    t.equal(outerEcn(inner, 'compatibility'), compatibility)
    t.equal(outerEcn(inner, 'normal'), normal)
  }
})

t.test('figure 4: all 16 combinations at the egress', async t => {
  const OUTER = [NOT_ECT, ECT0, ECT1, CE]
  // The arriving inner header, then what leaves by arriving outer header. `!` is the figure's (!!!).
  for (const [inner, ...cells] of [
    [NOT_ECT, [NOT_ECT], [NOT_ECT, '!'], [NOT_ECT, '!'], [DROP, '!']],
    [ECT0, [ECT0], [ECT0], [ECT1], [CE]],
    [ECT1, [ECT1], [ECT1], [ECT1], [CE]],
    [CE, [CE], [CE], [CE, '!'], [CE]],
  ] as const) {
    for (const [i, [leaves, alarm]] of cells.entries()) {
      const outer = OUTER[i]!
      t.equal(ecnAtEgress(inner, outer), leaves, `inner ${inner}, outer ${outer}`)
      t.equal(isDangerous(inner, outer), alarm === '!', `alarm of inner ${inner}, outer ${outer}`)
    }
  }
})
