/** The files that the build makes from .proto files have the same contents. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import protobuf from 'protobufjs'
import t from 'tap'
import { messageType } from '../../lib/proto/proto.js'
import { repositoryRoot } from '../support/fixtures.js'

const FOLDER = join(repositoryRoot, 'proto')

function typesIn(space: protobuf.NamespaceBase): protobuf.Type[] {
  return space.nestedArray.flatMap(one => [
    ...(one instanceof protobuf.Type ? [one] : []),
    ...(one instanceof protobuf.Namespace ? typesIn(one) : []),
  ])
}

/** All properties of a field on which its encoding depends, as text. */
function encoding(field: protobuf.Field): string {
  const { name, id, type, repeated, packed, hasPresence, map, delimited } = field.resolve()
  const of = field.partOf?.name
  return JSON.stringify({ name, id, type, repeated, packed, hasPresence, map, delimited, of })
}

for (const file of readdirSync(FOLDER)) {
  t.test(file, async t => {
    const types = typesIn(new protobuf.Root().loadSync(join(FOLDER, file)).resolveAll())
    t.ok(types.length > 1)
    for (const type of types) {
      const built = messageType(file, type.fullName)
      t.same(built.fieldsArray.map(encoding), type.fieldsArray.map(encoding), type.fullName)
    }
  })
}
