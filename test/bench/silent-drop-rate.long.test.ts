import './silent-drop-rate.test.js'
