import './host-hop.test.js'
