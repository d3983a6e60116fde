import { lossless } from './lossless.js'

await lossless('overlay', 'veth')
