import { sweep } from './sweep.js'

sweep([2, 3, 4, 5, 6])
