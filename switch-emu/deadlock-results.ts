import type { PortResult } from '../lib/scenario/result.js'
import type { Nanos } from '../lib/time/nanos.js'
import type { PortReport } from './core/port-report.js'
import type { DeadlockedQueue } from './find-deadlock.js'

/**
 * What the result of a port says of deadlocks: nothing where none was and nobody looked.
 *
 * @param deadlocked queues of all switches that are deadlocked now; @param startNs zero of the result's times
 */
export function deadlockResult(
  report: PortReport,
  deadlocked: readonly DeadlockedQueue[],
  startNs: Nanos,
): Pick<PortResult, 'deadlocked' | 'watchdog' | 'movedFrames'> {
  const { watchdog, movedFrames } = report
  const priorities = deadlocked
    .filter(queue => queue.switch === report.switch && queue.port === report.port)
    .map(queue => queue.priority)
  return {
    ...(priorities.length > 0 && { deadlocked: priorities }),
    ...(watchdog !== undefined && {
      watchdog: {
        detected: watchdog.detected,
        restored: watchdog.restored,
        turnedOff: watchdog.turnedOff,
        droppedFrames: report.dropsByReason.pfcWatchdog!,
        forwardedFrames: watchdog.forwardedFrames,
        events: watchdog.events.map(({ atNs, priority, event }) => ({
          atNs: atNs - startNs,
          priority,
          event,
        })),
      },
    }),
    ...(movedFrames !== undefined && { movedFrames }),
  }
}
