import { wholeFolder } from '../support/whole-folder.js'

wholeFolder(import.meta.dirname)
