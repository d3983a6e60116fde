/** What can be set of a link while it runs: by `events` of a scenario, and by `weir lab set`. */
import { MOST, type SettingsOf, type ValueOption } from '../options/option.js'

const NO_LOSS = [{ while: { loss: { given: false } } }] as const

/** Without a setting the link is as the scenario's `links` say, and damages nothing. */
export const LINK_OPTIONS = [
  {
    name: 'down',
    kind: 'flag',
    doc: 'the link is down, both ways. Frames on their way are lost; the ports at its ends drop what waits and what comes. `false`: it is up',
    usual: 'up',
    example: true,
  },
  {
    name: 'loss',
    kind: 'share',
    min: 0,
    max: 1,
    doc: 'share of the frames that are lost',
    usual: '0',
    example: '1%',
  },
  {
    name: 'burst',
    kind: 'number',
    min: 1,
    max: 1_000_000,
    doc: 'losses come in bursts of so many frames on average, geometrically distributed (Gilbert and Elliott)',
    usual: 'each loss is independent',
    example: 8,
    with: { loss: '1%' },
    idle: NO_LOSS,
  },
  {
    name: 'burstLoss',
    kind: 'share',
    min: 0.001,
    max: 1,
    doc: 'share of the frames of a burst that are lost',
    usual: '100%',
    example: '50%',
    with: { loss: '1%', burst: 8 },
    idle: [{ while: { burst: { given: false } } }],
  },
  {
    name: 'corruption',
    kind: 'share',
    min: 0,
    max: 1,
    doc: 'share of the frames in which one bit flips. In virtual time, where frames have no payload, the frame is discarded as its receiver would do',
    usual: '0',
    example: '0.1%',
  },
  {
    name: 'duplication',
    kind: 'share',
    min: 0,
    max: 1,
    doc: 'share of the frames that arrive twice',
    usual: '0',
    example: '1%',
  },
  {
    name: 'reorder',
    kind: 'share',
    min: 0,
    max: 1,
    doc: 'share of the frames that are held back, so that later ones overtake them',
    usual: '0',
    example: '1%',
  },
  {
    name: 'reorderBy',
    kind: 'time',
    min: 1,
    max: MOST,
    doc: 'the longest time for which such a frame is held back, uniformly distributed',
    usual: '10us',
    example: '50us',
    with: { reorder: '1%' },
    idle: [{ while: { reorder: { given: false } } }],
  },
  {
    name: 'delay',
    kind: 'time',
    min: 0,
    max: MOST,
    doc: 'propagation delay, one way. Frames on their way keep theirs, and none overtakes another',
    usual: "the link's own",
    example: '5ms',
  },
  {
    name: 'jitter',
    kind: 'time',
    min: 0,
    max: MOST,
    doc: 'each frame takes longer by a random time up to this, uniformly distributed. Frames keep their order',
    usual: '0',
    example: '1ms',
  },
  {
    name: 'rate',
    kind: 'rate',
    min: 1000,
    max: 4_000_000_000_000,
    doc: 'rate, in each direction that is named. A host keeps the line rate with which it started for its congestion control',
    usual: "the link's own",
    example: '50Mbps',
  },
] as const satisfies readonly ValueOption[]

/** Settings of one direction of a link. Absent ones are as the scenario's `links` say. */
export type LinkSettings = Partial<SettingsOf<typeof LINK_OPTIONS>>
