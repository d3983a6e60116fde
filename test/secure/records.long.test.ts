import './records.test.js'
