import './network.test.js'
