/** Transfers that outlive a daemon: how slow they are, and their reports. */
import type { TransferReport } from '../../bin/commands/transfer-item.js'
import type { Run } from '../support/daemon-process.js'
import { reportOf } from '../support/transfer-report.js'

/** A file takes more than a second, long enough that even a slow test sees it under way. */
export const SLOW = ['--line-rate', '20Mbps', '--chunk', '64KiB', '--mtu', '4096']
export const SIZE = 3_000_000

/** The report of a transfer that must arrive. */
export async function reportOfRun(run: Run): Promise<TransferReport> {
  const { code, stdout, stderr } = await run.ended
  if (code !== 0) throw new Error(stderr)
  return reportOf(stdout)
}
