import { testGoodput } from './goodput.js'

testGoodput('READ')
