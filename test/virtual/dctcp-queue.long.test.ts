import './dctcp-queue.test.js'
