import './doctor.test.js'
