import { fuzz } from './fuzz.js'

fuzz(Array.from({ length: 300 }, (_, i) => 61 + i))
