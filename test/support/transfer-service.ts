/** The whole service of transfers of a host, over whatever Verbs, with real files. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { createLog } from '../../lib/log.js'
import type { Verbs } from '../../lib/nic/types.js'
import { Arrivals } from '../../lib/transfer/file/arrivals.js'
import type { FileStore } from '../../lib/transfer/file/file.js'
import { Inbox } from '../../lib/transfer/file/inbox.js'
import { Share } from '../../lib/transfer/file/share.js'
import { TransferService } from '../../lib/transfer/service.js'
import { type FakeVerbs, realTime } from './fake-verbs.js'
import { CHUNK } from './transfer-bench.js'

type Settings = ConstructorParameters<typeof TransferService>[0]

interface More extends Partial<Settings> {
  /** Folder of files that come, in place of `in`. */
  inbox?: string
  /** Wraps where single files go. */
  wrap?: (store: FileStore) => FileStore
}

/** It writes into `in` of the folder, and shares `share`; both are made. It has not been started. */
export async function newServiceIn(folder: string, verbs: Verbs, more: More = {}): Promise<TransferService> {
  const { inbox: name = 'in', wrap = store => store, chunkBytes = CHUNK, ...others } = more
  for (const made of [name, 'share']) mkdirSync(join(folder, made), { recursive: true })
  const arrivals = new Arrivals(chunkBytes)
  const inbox = await Inbox.at(join(folder, name), arrivals)
  return new TransferService({
    verbs,
    time: realTime,
    store: wrap(inbox),
    trees: inbox,
    share: await Share.at(join(folder, 'share')),
    arrivals,
    log: createLog('silent', 'test'),
    chunkBytes,
    slots: 4,
    retryAfterMs: 5,
    ...others,
  })
}

/** The same, started. Whoever has it closes it. */
export async function serviceIn(folder: string, verbs: Verbs, more: More = {}): Promise<TransferService> {
  const service = await newServiceIn(folder, verbs, more)
  service.start()
  return service
}

/** Waits until all have ended their transfers, and checks that they have given everything back. */
export async function checkAllReleased(
  t: Test,
  services: readonly TransferService[],
  ...verbs: FakeVerbs[]
): Promise<void> {
  for (const service of services) while (service.count > 0) await sleep(1)
  const sum = (count: (verbs: FakeVerbs) => number) => verbs.reduce((all, one) => all + count(one), 0)
  const left = [sum(({ memory }) => memory.size), sum(({ open }) => open)]
  t.same(left, [0, 0], 'no region and no connection is left')
}
