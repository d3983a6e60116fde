/** The other flow begins first, and the model beside itself. */
import './beside-tcp.test.js'
