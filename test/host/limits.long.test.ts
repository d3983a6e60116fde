import './limits.test.js'
