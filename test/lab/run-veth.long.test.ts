/** `weir run --on veth` that is stopped, or killed. */
import { testStoppedRun } from './stopped-run.js'

testStoppedRun('SIGINT', 130)
testStoppedRun('SIGKILL', null)
