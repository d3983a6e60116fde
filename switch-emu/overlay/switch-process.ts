import { rmSync } from 'node:fs'
import { WeirError } from '../../lib/errors.js'
import { OverlaySwitch } from './overlay-switch.js'
import type { SwitchReply, SwitchRequest } from './switch-messages.js'

/**
 * The body of the switch process: it does what its parent asks over the IPC channel, and ends when that channel
 * closes, so that it never outlives its lab. Resolves after that.
 *
 * @param folder the lab's, which is removed in the end
 */
export async function runSwitchProcess(folder: string): Promise<void> {
  if (process.send === undefined) {
    throw new WeirError(
      'WEIR_BAD_STATE',
      'the switch process is started by `weir run --on overlay`, not by hand',
    )
  }
  const reply = (message: SwitchReply) => {
    if (process.connected) process.send?.(message)
  }
  const disconnected = new Promise<void>(resolve => {
    process.once('disconnect', resolve)
    // The lab may have gone while this process came up.
    if (!process.connected) resolve()
  })
  let overlay: OverlaySwitch | null = null
  let turn = Promise.resolve()
  process.on('message', (request: SwitchRequest) => {
    turn = turn.then(async () => {
      try {
        if (request.type === 'start') {
          const { scenario, local, links } = request
          overlay = await OverlaySwitch.open({ scenario, local, links, onError: fail })
          reply({ type: 'started' })
        } else {
          reply(answer(overlay, request))
        }
      } catch (error) {
        reply(asReply(error))
      }
    })
  })
  reply({ type: 'up' })
  await disconnected
  await turn
  await (overlay as OverlaySwitch | null)?.close()
  // The lab removes its folder itself, unless it was killed.
  rmSync(folder, { recursive: true, force: true })
}

function answer(
  overlay: OverlaySwitch | null,
  request: Exclude<SwitchRequest, { type: 'start' }>,
): SwitchReply {
  if (overlay === null)
    throw new WeirError('WEIR_BAD_STATE', `switch process: ${request.type} came before start`)
  switch (request.type) {
    case 'begin':
      overlay.begin()
      return { type: 'begun' }
    case 'ports':
      return { type: 'ports', ports: overlay.ports(), queueBytes: overlay.queueBytes() }
    case 'report':
      return { type: 'report', report: overlay.report() }
  }
}

function asReply(error: unknown): SwitchReply {
  const code = error instanceof WeirError ? error.code : 'WEIR_INTERNAL'
  return { type: 'error', code, message: error instanceof Error ? error.message : String(error) }
}

/** A round threw: a defect. The lab sees the process end and says so. */
function fail(error: unknown): void {
  process.stderr.write(`weir switch: ${error instanceof Error ? (error.stack ?? error.message) : error}\n`)
  process.exit(1)
}
