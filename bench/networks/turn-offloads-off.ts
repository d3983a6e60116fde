/** A program that turns off the offloads of the given interfaces in its network namespace. */
import { turnOffloadsOff } from '../../switch-emu/lab/offloads.js'

turnOffloadsOff(process.argv.slice(2))
