import './first-windows.test.js'
