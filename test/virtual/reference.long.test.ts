/** The same dumbbell with another additive increase. */
import { testAgainstReference } from './reference.js'
import './reference.test.js'

testAgainstReference('dumbbell-100g-1500ns')
