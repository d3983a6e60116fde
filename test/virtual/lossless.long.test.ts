import './lossless.test.js'
