import { testDataSide } from './data-side.js'

testDataSide(false)
