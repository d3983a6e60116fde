import './interrupt.test.js'
