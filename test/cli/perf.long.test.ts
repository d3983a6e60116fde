import './perf.test.js'
