import './verbs.test.js'
