import { fuzzScenarios } from './scenario-fuzz.js'

fuzzScenarios(8, 2000)
