/**
 * The command lines that put a program into a lab's namespaces, by util-linux's `unshare` and `nsenter`.
 *
 * A lab has one mount namespace, and a network namespace for the switches and for each host. Nothing of it can be
 * seen from outside: no name in /run/netns, no interface. As an ordinary user all of that lies in a user namespace,
 * in which this user is root. It lasts as long as a process is in it.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { WeirError } from '../../lib/errors.js'

/** `root`: with the privileges of this process; `user`: with those of a user namespace of its own. */
export type Privilege = 'root' | 'user'

/** Each begins in new namespaces; the first that works is taken. */
const WAYS: readonly Privilege[] = ['root', 'user']

/** Runs what follows in a new mount and network namespace. */
export function inNewNamespaces(privilege: Privilege): string[] {
  const user = privilege === 'user' ? ['--user', '--map-root-user'] : []
  return ['unshare', ...user, '--mount', '--net', '--']
}

/** Runs what follows where process `pid` is, in its mount namespace and its network. */
export function inNamespacesOf(pid: number, privilege: Privilege): string[] {
  const user = privilege === 'user' ? ['--user', '--preserve-credentials'] : []
  return ['nsenter', '--target', String(pid), ...user, '--mount', '--net', '--']
}

/** Runs what follows in the network namespace that `file` is; only within the lab's mount namespace it is one. */
export function inNetwork(file: string): string[] {
  return ['nsenter', `--net=${file}`, '--']
}

/** Runs what follows with a /sys that shows the interfaces of its own network namespace. */
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
 * How this process may make namespaces. Throws WEIR_UNSUPPORTED with what forbids it, how to mend it, and the way
 * that needs no namespaces.
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

/** Why namespaces cannot be made this way, or null if they can. */
export function namespacesRefused(privilege: Privilege): string | null {
  const [program, ...args] = inNewNamespaces(privilege)
  const tried = spawnSync(program!, [...args, 'true'], { encoding: 'utf8', timeout: 10_000 })
  if (isMissing(tried.error)) return `there is no command ${program}`
  if (tried.error) return `${program} cannot be run: ${(tried.error as NodeJS.ErrnoException).code}`
  return tried.status === 0 ? null : tried.stderr.trim() || `${program} ended with ${tried.status}`
}

/** What usually forbids namespaces, where it shows, and the fix. */
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

/** What needs no privileges ends every refusal. */
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
