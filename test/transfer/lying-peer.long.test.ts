import './lying-peer.test.js'
