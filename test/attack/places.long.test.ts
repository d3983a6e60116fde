import './places.test.js'
