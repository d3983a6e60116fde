/** `weir lab up` that is killed at more times, and a lab in the foreground that is interrupted. */
import { testForeground, testKilled } from './killed-ups.js'

testKilled(3)
testForeground('SIGINT', 130)
