import './topology.test.js'
