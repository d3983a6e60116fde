/** `weir lab up` that is killed at more times, and a lab in the foreground that is interrupted or killed. */
import { testForeground, testKilled } from './killed-ups.js'

testKilled(3)
testForeground('SIGINT', 130)
testForeground('SIGKILL', null)
