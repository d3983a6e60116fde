import './destinations.test.js'
