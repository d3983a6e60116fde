/** The same dumbbell with an AI step of its own. */
import { testAgainstReference } from './reference.js'
import './reference.test.js'

testAgainstReference('dumbbell-100g-1500ns')
