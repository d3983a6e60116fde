import { testWhole } from './whole-captures.js'

testWhole('{name: fixed-window, window: 50KB}')
