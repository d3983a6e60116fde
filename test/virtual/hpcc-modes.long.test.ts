import './hpcc-modes.test.js'
