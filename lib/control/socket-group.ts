/** A control socket that the members of a group may use too. */
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { WeirError } from '../errors.js'
import { whyNotWritten } from '../file-reason.js'

/** Read and write for owner and group. */
const SOCKET_MODE = 0o660
/** The folder of a socket is not listed by the group, only entered. */
const FOLDER_MODE = 0o710
const GROUP_ENTERS = 0o010
const OTHERS_ENTER = 0o001
const GETENT_MS_MAX = 5000

/** Returns the number of a group by its name or number. Throws WEIR_BAD_ARGUMENT if this system has no such group. */
export function groupId(name: string): number {
  if (/^\d{1,10}$/.test(name)) return Number(name)
  const line = lineOf(name, readGroups()) ?? lineOf(name, askedGroup(name))
  const id = Number(line?.split(':')[2])
  if (line !== undefined && Number.isInteger(id)) return id
  throw new WeirError(
    'WEIR_BAD_ARGUMENT',
    `--group ${name}: this system has no such group: make it with groupadd ${name}`,
  )
}

function lineOf(name: string, groups: string): string | undefined {
  return groups.split('\n').find(line => line.startsWith(`${name}:`))
}

function readGroups(): string {
  try {
    return readFileSync('/etc/group', 'utf8')
  } catch {
    return ''
  }
}

/** A directory service may know more groups than the file. */
function askedGroup(name: string): string {
  try {
    return execFileSync('getent', ['group', '--', name], {
      encoding: 'utf8',
      timeout: GETENT_MS_MAX,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  } catch {
    return ''
  }
}

/**
 * Lets the group in where its folder is the daemon's own and was made for the socket.
 * @param isNew the folder was made for this socket
 */
export function openFolderToGroup(path: string, group: number, isNew: boolean): void {
  const folder = dirname(path)
  if (isNew) giveToGroup(folder, group, FOLDER_MODE)
  const { mode, gid } = statSync(folder)
  if ((mode & OTHERS_ENTER) !== 0 || (gid === group && (mode & GROUP_ENTERS) !== 0)) return
  throw new WeirError(
    'WEIR_BAD_ARGUMENT',
    `the group ${group} of the control socket cannot enter its folder ${folder}: chgrp ${group} ${folder} && chmod g+x ${folder}`,
  )
}

/** The socket has been accessible to its owner alone up to here. */
export function openSocketToGroup(path: string, group: number): void {
  giveToGroup(path, group, SOCKET_MODE)
}

function giveToGroup(path: string, group: number, mode: number): void {
  try {
    chownSync(path, process.getuid?.() ?? -1, group)
    chmodSync(path, mode)
  } catch (cause) {
    const text = `${path} cannot be given to the group ${group}: ${whyNotWritten(cause)}; its owner has to be a member of the group, or root`
    throw new WeirError('WEIR_BAD_ARGUMENT', text, { cause })
  }
}

/** True if the folder of a socket has to be made. */
export function lacksFolder(path: string): boolean {
  return !existsSync(dirname(path))
}
