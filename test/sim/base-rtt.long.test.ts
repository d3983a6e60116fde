import './base-rtt.test.js'
