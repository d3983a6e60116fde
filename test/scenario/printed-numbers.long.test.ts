import './printed-numbers.test.js'
