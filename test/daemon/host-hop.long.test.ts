import { testHostHop } from './host-hops.js'

testHostHop(true)
testHostHop(false)
