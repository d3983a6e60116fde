/**
 * For how many round trips flows that begin carefully keep a drop rate above 1 %, on the paths of `bench -- silent-paths`: every
 * controller that runs on plain networks. Random losses do not count: the sender does not cause them.
 */
import t from 'tap'
import { type SilentPath, silentPaths } from '../../bench/networks/silent-paths.js'
import { describeControllers } from '../../lib/cc/describe-controller.js'
import { SECOND } from '../../lib/time/nanos.js'
import { besideWithQueue, DAEMON, type FlowPlan } from '../sim/beside.js'
import { longestAbove, ROUND_TRIPS_MOST, SHARE_MOST } from '../sim/drop-rate.js'
import { drawnShare, isLong, variants } from '../support/long.js'

/** A run is so many round trips long: a start, and a time after it that is longer than the bound. */
const ROUND_TRIPS = 4 * ROUND_TRIPS_MOST
const PACKET_BYTES = 1090
const TICK_SECONDS = 0.1

/**
 * Reno's window is the square root of 1.5 / p at a drop rate p (Mathis et al., 1997). A flow's part of a full path is smaller than its window
 * at 1 %: who uses losses as the signal of congestion has to cause more of them, as TCP does.
 */
const WINDOW_LEAST = Math.sqrt(1.5 / SHARE_MOST)
/** These keep the queue short by its delay, and need no losses. */
const BY_DELAY = ['swift']

function partPackets({ link, flows }: SilentPath): number {
  return (link.bufferBytes + (link.rateBps * link.rttNs) / 8e9) / PACKET_BYTES / flows
}

function longest({ link, flows, config }: SilentPath, name: string): number {
  const roundTripNs = link.rttNs + (link.bufferBytes * 8e9) / link.rateBps
  const seconds = TICK_SECONDS * Math.ceil((ROUND_TRIPS * roundTripNs) / (TICK_SECONDS * SECOND) + 1)
  const plans = Array<FlowPlan>(flows).fill({ kind: 'weir', startNs: 0 })
  const { queue } = besideWithQueue(link, plans, seconds, 1, {
    ...DAEMON,
    ...config,
    cc: { name, options: {} },
  })
  return longestAbove(queue.came, queue.overflowed, roundTripNs)
}

const controllers = describeControllers().filter(({ plainNetworks }) => plainNetworks.works)

const paths = variants(silentPaths(), 2)
for (const path of isLong ? drawnShare(t, paths) : paths) {
  t.test(path.name, async t => {
    const isNarrow = partPackets(path) < WINDOW_LEAST
    for (const { name } of controllers.filter(one => !isNarrow || BY_DELAY.includes(one.name))) {
      const found = longest(path, name)
      t.comment(`${name}: ${found} round trips`)
      t.ok(found <= ROUND_TRIPS_MOST, `${name}: ${found} round trips above ${SHARE_MOST}`)
    }
  })
}
