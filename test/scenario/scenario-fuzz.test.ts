import { fuzzScenarios } from './scenario-fuzz.js'

fuzzScenarios(7, 100)
