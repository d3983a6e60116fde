import './connections.test.js'
