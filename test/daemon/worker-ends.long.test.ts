import './worker-ends.test.js'
