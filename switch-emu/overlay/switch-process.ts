import { runSwitchProcess } from '../real-time/switch-process.js'
import type { OverlayStart } from './overlay-messages.js'
import { OverlaySwitch } from './overlay-switch.js'

/**
 * The body of the switch process of an overlay.
 *
 * @param folder the lab's, which is removed at the end
 */
export function runOverlaySwitchProcess(folder: string): Promise<void> {
  return runSwitchProcess<OverlayStart>(folder, ({ scenario, local, links, captures }, fail) =>
    OverlaySwitch.open({ scenario, local, links, captures, onError: fail }),
  )
}
