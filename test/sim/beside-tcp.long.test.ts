/** Who begins the other way round, and the model beside itself. */
import './beside-tcp.test.js'
