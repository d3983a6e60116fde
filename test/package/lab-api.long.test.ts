import './lab-api.test.js'
