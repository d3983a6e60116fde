import './stopped-perf.test.js'
