import './send.test.js'
