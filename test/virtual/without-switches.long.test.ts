import './without-switches.test.js'
