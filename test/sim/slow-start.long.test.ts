import './slow-start.test.js'
