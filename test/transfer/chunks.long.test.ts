import './chunks.test.js'
