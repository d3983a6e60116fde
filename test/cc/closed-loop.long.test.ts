import './closed-loop.test.js'
