import { fuzz } from './fuzz.js'

fuzz(Array.from({ length: 600 }, (_, i) => 61 + i))
