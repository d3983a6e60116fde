/** The same scenario on veth in every encapsulation: the windows of virtual time. */
import t from 'tap'
import { checkModes } from './modes.js'
import { noLongLabs } from './support.js'

const skip = noLongLabs()

for (const formats of [['wide', 'compact'], ['p4-int-md', 'ifa'], ['ioam']]) {
  t.test(formats.join(), { skip }, t =>
    checkModes(
      t,
      formats.map(format => ({ name: format, format })),
    ),
  )
}
