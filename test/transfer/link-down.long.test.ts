import './link-down.test.js'
