import './drop-rate.test.js'
