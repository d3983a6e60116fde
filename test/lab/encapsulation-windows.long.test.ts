/** The same scenario on veth in every encapsulation: the windows of virtual time. */
import t from 'tap'
import { checkModes } from './modes.js'
import { noLabs } from './support.js'

const skip = noLabs()

for (const formats of [['wide', 'compact'], ['p4-int-md', 'ifa'], ['ioam']]) {
  t.test(formats.join(), { skip }, t =>
    checkModes(
      t,
      formats.map(format => ({ name: format, format })),
    ),
  )
}
