/** The same dumbbell with another additive increase, with DCQCN, DCTCP and TIMELY. */
import { testAgainstReference } from './reference.js'
import './reference.test.js'

testAgainstReference('dumbbell-100g-1500ns')
testAgainstReference('dumbbell-100g-dcqcn')
testAgainstReference('dumbbell-100g-dctcp')
testAgainstReference('dumbbell-100g-timely')
