/** `weir run --on veth` that is killed. */
import { testStoppedRun } from './stopped-run.js'

testStoppedRun('SIGKILL', null)
