import './security.test.js'
