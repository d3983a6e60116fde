import { sweep } from './sweep.js'

sweep(Array.from({ length: 68 }, (_, i) => 5 + i))
