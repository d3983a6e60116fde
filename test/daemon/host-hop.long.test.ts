import { testHostHop } from './host-hops.js'

testHostHop(false)
