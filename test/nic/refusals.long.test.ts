import { testRefusals } from './refusals.js'

testRefusals([2, 3])
