import './dump-loopback.test.js'
