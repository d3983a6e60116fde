import './tunnel.test.js'
