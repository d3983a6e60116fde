import './mutated-datagrams.test.js'
