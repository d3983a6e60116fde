import { testRefusals } from './refusals.js'

testRefusals([1])
