import './perf-run.test.js'
