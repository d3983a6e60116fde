/** Checks whether this user may have labs on this machine, by trying it. */
import { spawnSync } from 'node:child_process'
import { libcFault } from '../../lib/io/linux/libc.js'
import { choosePrivilege, inNewNamespaces, type Privilege, refusal } from './namespaces.js'

/** A trial in namespaces that end with it: a veth pair like those of a lab, and the /sys of a namespace. */
const TRIAL = 'mount -t sysfs sysfs /sys && ip link add weir0 type veth peer name weir1'

/**
 * Returns how labs can be made here. Throws WEIR_UNSUPPORTED with what is missing or forbidden, how to mend
 * it, and the way that needs none of it.
 */
export function checkVeth(): Privilege {
  const privilege = choosePrivilege()
  const fault = libcFault()
  if (fault !== null) throw refusal(`veth needs packet sockets: ${fault}`)
  if (spawnSync('ip', ['-Version'], { stdio: 'ignore' }).status !== 0) {
    throw refusal('labs need the command ip; install it with: sudo apt-get install iproute2')
  }
  const said = trial(privilege)
  if (said !== null) throw refusal(`this machine does not let a lab have its interfaces: ${said}`)
  return privilege
}

/** Makes a veth pair and a /sys in namespaces of its own. Returns the error, or null. */
export function trial(privilege: Privilege): string | null {
  const [program, ...args] = inNewNamespaces(privilege)
  const tried = spawnSync(program!, [...args, 'sh', '-c', TRIAL], { encoding: 'utf8', timeout: 10_000 })
  return tried.status === 0 ? null : tried.stderr.trim() || `exit code ${tried.status}`
}
