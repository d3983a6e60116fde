import './workload.test.js'
