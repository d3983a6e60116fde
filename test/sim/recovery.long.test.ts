import './recovery.test.js'
