import './paths.test.js'
