import './feedback-key.test.js'
