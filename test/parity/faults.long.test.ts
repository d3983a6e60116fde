import { faults } from './faults.js'

await faults('overlay', 'veth')
