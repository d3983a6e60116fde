import { lossy } from './lossy.js'

await lossy('veth')
