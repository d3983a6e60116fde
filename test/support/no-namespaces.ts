/** A machine whose kernel forbids namespaces. */
import { spawnSync } from 'node:child_process'

/** Runs a command line as a root that may not make any namespaces. */
export const FORBIDDEN = [
  'unshare',
  '--user',
  '--map-root-user',
  '--',
  'sh',
  '-c',
  'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-sys_admin "$@"',
  'sh',
]

/** Why that is not possible, or false. */
export function cannotForbid(): string | false {
  const [program, ...args] = [...FORBIDDEN, 'true']
  const tried = spawnSync(program!, args, { encoding: 'utf8' })
  return tried.status === 0
    ? false
    : `namespaces cannot be forbidden: ${tried.stderr || tried.error?.message}`
}
