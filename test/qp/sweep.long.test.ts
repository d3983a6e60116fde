import { sweep } from './sweep.js'

sweep(Array.from({ length: 60 }, (_, i) => 13 + i))
