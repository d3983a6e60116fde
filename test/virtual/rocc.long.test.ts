import './rocc.test.js'
