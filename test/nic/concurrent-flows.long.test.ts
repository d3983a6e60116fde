import './concurrent-flows.test.js'
