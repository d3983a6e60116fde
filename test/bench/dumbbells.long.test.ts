import './dumbbells.test.js'
