import './udp-ports.test.js'
