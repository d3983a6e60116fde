/** CUBIC flows on a drop-tail queue: fewer, and more. */
import { RATE_MBPS, testShared } from './networks.js'
import './networks.test.js'

testShared(2, RATE_MBPS, 20, 0.01)
// Fewer than ten packets a flow are no window to be fair with.
testShared(20, 3 * RATE_MBPS, 10, 0.04)
