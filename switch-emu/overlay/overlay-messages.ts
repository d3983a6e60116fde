import type { Endpoint } from '../../lib/io/ports/vxlan-socket.js'
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import type { CapturePlace } from '../captures/port-captures.js'
import type { HostLink } from './overlay-switch.js'

/** The first message to the switch process of an overlay: what the switches are, and where their hosts are. */
export interface OverlayStart {
  type: 'start'
  scenario: Scenario
  local: Endpoint
  links: HostLink[]
  captures?: CapturePlace
}
