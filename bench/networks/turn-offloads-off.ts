/** A program: turns the offloads off of the interfaces named, in the network namespace that it is started in. */
import { turnOffloadsOff } from '../../switch-emu/lab/offloads.js'

turnOffloadsOff(process.argv.slice(2))
