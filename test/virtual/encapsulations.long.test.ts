import './encapsulations.test.js'
