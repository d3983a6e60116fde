import { testRepetition } from './repetition.js'

testRepetition(16)
