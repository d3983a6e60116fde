import { dumbbell } from './dumbbell.js'

await dumbbell('overlay', 'veth')
