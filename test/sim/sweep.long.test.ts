import { sweep } from './sweep.js'

sweep([3, 4, 5, 6])
