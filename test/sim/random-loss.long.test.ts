import './random-loss.test.js'
