import './outages.test.js'
