import './killed-receivers.test.js'
