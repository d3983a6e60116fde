import { testRefusals } from './refusals.js'

testRefusals([2, 3, 4, 5, 6])
