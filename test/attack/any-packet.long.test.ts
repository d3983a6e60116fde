import './any-packet.test.js'
