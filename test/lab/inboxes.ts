/** Where a lab's hosts receive files, what `exec` finds there, and links that are not up. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { noLabs, Place, SMALL } from './support.js'

const skip = noLabs()

/** Takes interfaces of a lab away, one after the other. */
async function testLinks(t: Test, place: Place): Promise<void> {
  const links = async () => {
    const [{ state, hosts }] = JSON.parse((await place.weir(['lab', 'status', '--json'])).stdout)
    return [state, ...hosts.map(({ link }: { link: string }) => link)]
  }
  await t.test('an interface that is gone or down makes a lab degraded', async t => {
    t.same(await links(), ['up', 'up', 'up'])
    await place.exec('small', 'h1', ['ip', 'link', 'set', 'eth0', 'down'])
    t.same(await links(), ['degraded', 'no-carrier', 'up'])
    await place.exec('small', 's1', ['sh', '-c', 'ip link set s1-h1 down && ip link delete s1-h2'])
    t.same(await links(), ['degraded', 'down', 'gone'])
    t.match((await place.weir(['lab', 'status'])).stdout, /h2 .* gone /)
    t.match((await place.weir(['lab', 'list'])).stdout, /small +degraded/)
  })
}

/** Tests that a lab's hosts receive in folders that go with it, or that `--inbox` keeps. */
export function testInboxes(keeps: boolean): void {
  const name = keeps ? 'kept by --inbox' : 'gone with the lab'
  t.test(`received files: named by the status, ${name}`, { skip }, async t => {
    const place = new Place(t)
    const file = place.file('small.yaml', SMALL)
    const up = await place.weir(['lab', 'up', file, ...(keeps ? ['--inbox', 'kept'] : [])])
    t.equal(up.code, 0, up.stderr)
    t.match(up.stdout, keeps ? /kept\/HOST, kept when/ : /inboxes: .*HOST, removed with the lab/)
    const sent = await place.exec('small', 'h1', ['weir', 'send', place.file('note', 'hello'), 'h2'])
    t.equal(sent.code, 0, sent.stderr)
    const [{ hosts }] = JSON.parse((await place.weir(['lab', 'status', '--json'])).stdout)
    const [, h2] = hosts
    if (keeps) t.equal(h2.inbox, join(place.folder, 'kept', 'h2'))
    t.equal(h2.keepsInbox, keeps)
    t.equal(readFileSync(join(h2.inbox, 'note'), 'utf8'), 'hello', 'where the status says')
    const look = 'echo $WEIR_INBOX $WEIR_SOCKET; cat "$WEIR_INBOX/note"'
    const seen = await place.exec('small', 'h2', ['sh', '-c', look])
    t.equal(seen.stdout, `${h2.inbox} ${h2.socket}\nhello`)
    const said = (await place.weir(['lab', 'status'])).stdout
    t.match(said, /inboxes: .*\/HOST.*\nsockets: .*\/HOST\.sock\n/)
    if (keeps) await testLinks(t, place)
    const down = await place.weir(['lab', 'down', 'small'])
    t.match(down.stdout, keeps ? /is down\n$/ : /is down; this removed a received file.*--inbox DIR/)
    t.equal(existsSync(h2.inbox), keeps)
    t.same(place.leftFiles(), [])
  })
}
