/**
 * The command lines that run a program in a lab's namespaces, by util-linux's `unshare` and `nsenter`.
 *
 * A lab has one mount namespace, and a network namespace for the switches and for each host. Nothing of it is
 * visible from outside: no name in /run/netns, no interface. For an ordinary user all of them are in a user
 * namespace, in which this user is root. They exist as long as a process is in them.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { WeirError } from '../../lib/errors.js'

/** `root`: with the privileges of this process. `user`: with those of a user namespace of its own. */
export type Privilege = 'root' | 'user'

/** Each begins in new namespaces. The first that works is used. */
const WAYS: readonly Privilege[] = ['root', 'user']

/** Command line that runs another one in a new mount and network namespace. */
export function inNewNamespaces(privilege: Privilege): string[] {
  const user = privilege === 'user' ? ['--user', '--map-root-user'] : []
  return ['unshare', ...user, '--mount', '--net', '--']
}

/** Command line that runs another one in the mount and network namespace of process `pid`. */
export function inNamespacesOf(pid: number, privilege: Privilege): string[] {
  const user = privilege === 'user' ? ['--user', '--preserve-credentials'] : []
  return ['nsenter', '--target', String(pid), ...user, '--mount', '--net', '--']
}

/**
 * Command line that runs another one in the network namespace of `file`, which is one only within the lab's
 * mount namespace.
 */
export function inNetwork(file: string): string[] {
  return ['nsenter', `--net=${file}`, '--']
}

/** Command line that runs another one with a /sys of its own network namespace. */
export const WITH_OWN_SYS: readonly string[] = [
  'unshare',
  '--mount',
  '--',
  'sh',
  '-c',
  'mount -t sysfs sysfs /sys && exec "$@"',
  'weir-lab',
]

/**
 * Returns how this process may make namespaces. Throws WEIR_UNSUPPORTED with what forbids it, how to mend it,
 * and the way that needs no namespaces.
 */
export function choosePrivilege(): Privilege {
  if (process.platform !== 'linux') throw refusal(`labs need Linux; this is ${process.platform}`)
  const refusals: string[] = []
  for (const privilege of WAYS) {
    if (privilege === 'root' && process.getuid?.() !== 0) continue
    const why = namespacesRefused(privilege)
    if (why === null) return privilege
    refusals.push(why)
  }
  const { why, fix } = advice()
  const said = [...new Set(why === undefined ? refusals : [why, ...refusals])].join('; ')
  throw refusal(`this machine lets this user make no network namespaces (${said}). Fix: ${fix}`)
}

/** Returns why namespaces cannot be made this way, or null if they can. */
export function namespacesRefused(privilege: Privilege): string | null {
  const [program, ...args] = inNewNamespaces(privilege)
  const tried = spawnSync(program!, [...args, 'true'], { encoding: 'utf8', timeout: 10_000 })
  if (isMissing(tried.error)) return `there is no command ${program}`
  if (tried.error) return `${program} cannot be run: ${(tried.error as NodeJS.ErrnoException).code}`
  return tried.status === 0 ? null : tried.stderr.trim() || `${program} ended with ${tried.status}`
}

/** Returns what forbids namespaces here, if it can be seen, and the fix. */
export function advice(): { why?: string; fix: string } {
  if (isMissing(spawnSync('unshare', ['--version'], { stdio: 'ignore' }).error)) {
    return { fix: 'sudo apt-get install util-linux' }
  }
  if (sysctl('user/max_user_namespaces') === '0') {
    return { why: 'user namespaces are turned off', fix: 'sudo sysctl user.max_user_namespaces=15000' }
  }
  if (sysctl('kernel/unprivileged_userns_clone') === '0') {
    return {
      why: 'user namespaces are for root alone',
      fix: 'sudo sysctl kernel.unprivileged_userns_clone=1',
    }
  }
  if (sysctl('kernel/apparmor_restrict_unprivileged_userns') === '1') {
    return {
      why: 'AppArmor restricts user namespaces',
      fix: 'sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0',
    }
  }
  return {
    fix: 'run it as root; a container needs --privileged, or --cap-add SYS_ADMIN --cap-add NET_ADMIN and a seccomp profile that lets unshare through',
  }
}

/** Every refusal ends with the way that needs no privileges. */
export function refusal(text: string): WeirError {
  return new WeirError(
    'WEIR_UNSUPPORTED',
    `${text}. "weir doctor" says more; "weir run FILE --on overlay" needs none of it`,
  )
}

function isMissing(error: Error | undefined): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT'
}

function sysctl(name: string): string | null {
  try {
    return readFileSync(`/proc/sys/${name}`, 'utf8').trim()
  } catch {
    return null
  }
}
