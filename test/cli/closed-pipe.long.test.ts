import './closed-pipe.test.js'
