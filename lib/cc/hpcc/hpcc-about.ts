import type { About } from '../about.js'

/** The reaction of controllers that have a bound on losses beside telemetry (`loss-cap.ts`). */
export const CAPPED_LOSS =
  'a loss leaves lossBeta of the window, at most once in a round trip; a timeout leaves one packet, and slow start follows; in flows that begin carefully, or with lossReaction'

export const HPCC_ABOUT: About = {
  is: 'HPCC++ at the sender: the busiest link of the path sets window and rate',
  source:
    'draft-miao-rtgwg-hpccplus-02; direct responses: draft-pan-tsvwg-hpccplus-01; HPCC: Li et al., SIGCOMM 2019',
  switches: 'write telemetry into data packets',
  host: '',
  loss: `${CAPPED_LOSS}. A loss on a link that the telemetry says is full is no news, but for a timeout`,
  plainNetworks: { works: false, how: 'without telemetry the window stays as it began' },
  foreignPeers: { works: false, how: 'nobody returns telemetry, and the window stays as it began' },
}
