import './ratio-only.test.js'
