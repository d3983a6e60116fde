import { faults } from './faults.js'

await faults('virtual')
