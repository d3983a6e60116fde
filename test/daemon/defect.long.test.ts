/** Other ways in which the thread of the data path may end. */
import { testDefect } from './defects.js'

testDefect('exit', /the thread of the data path has ended: exit code 3/)
testDefect('memory', /the thread of the data path has ended: .*memory/)
