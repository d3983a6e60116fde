import { lossy } from './lossy.js'

await lossy('overlay', 'veth')
