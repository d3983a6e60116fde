import './swapped-folders.test.js'
