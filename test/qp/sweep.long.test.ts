import { sweep } from './sweep.js'

sweep(Array.from({ length: 100 }, (_, i) => 13 + i))
