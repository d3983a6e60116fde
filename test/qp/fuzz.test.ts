import { fuzz } from './fuzz.js'

fuzz(Array.from({ length: 60 }, (_, i) => i + 1))
