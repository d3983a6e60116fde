import { sweep } from './sweep.js'

/** The last six are seeds with which a defect once failed. */
sweep([1, 2, 3, 4, 102, 109, 116, 143, 332, 378])
