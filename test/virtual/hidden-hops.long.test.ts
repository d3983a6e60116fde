import './hidden-hops.test.js'
