import './stream-machine.test.js'
