import { dumbbell } from './dumbbell.js'
import { REAL_TIME } from './run-on.js'

// Where veth is not to be had, the other place in real time; test:long has it everywhere.
const hasVeth = REAL_TIME.some(({ on, skip }) => on === 'veth' && skip === false)

await dumbbell(hasVeth ? 'veth' : 'overlay')
