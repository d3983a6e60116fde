import './fault-points.test.js'
