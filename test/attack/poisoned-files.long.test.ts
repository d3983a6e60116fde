import './poisoned-files.test.js'
