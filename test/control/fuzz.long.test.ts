import './fuzz.test.js'
