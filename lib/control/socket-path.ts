/** The default path of the control socket. */
import { existsSync, lstatSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { WeirError } from '../errors.js'
import { makeFolder } from '../make-folder.js'

/** Longest path of a Unix socket that every system takes, bytes. */
const PATH_BYTES_MAX = 103

/**
 * `$WEIR_SOCKET`, else `$XDG_RUNTIME_DIR/weir/daemon.sock`, else `weir-UID/daemon.sock` in the temporary
 * folder.
 */
export function defaultSocketPath(): string {
  const { env } = process
  if (env.WEIR_SOCKET) return env.WEIR_SOCKET
  if (env.XDG_RUNTIME_DIR) return join(env.XDG_RUNTIME_DIR, 'weir', 'daemon.sock')
  return join(tmpdir(), `weir-${process.getuid?.() ?? 'user'}`, 'daemon.sock')
}

/** Where the daemon that is a service of the system has its socket. Only root makes folders in /run. */
export const SERVICE_SOCKET = '/run/weir/daemon.sock'

/** Where a command looks for a daemon: the user's own, else the system's. */
export function socketPathOfClient(): string {
  const own = defaultSocketPath()
  if (process.env.WEIR_SOCKET || existsSync(own)) return own
  return existsSync(SERVICE_SOCKET) ? SERVICE_SOCKET : own
}

/**
 * Throws WEIR_BAD_ARGUMENT when the path is too long.
 *
 * @param mend what the user can do, for the message
 */
export function checkSocketPath(path: string, mend = ''): void {
  if (Buffer.byteLength(path) <= PATH_BYTES_MAX) return
  const text = `the socket path ${path} is longer than ${PATH_BYTES_MAX} bytes`
  throw new WeirError('WEIR_BAD_ARGUMENT', mend === '' ? text : `${text}: ${mend}`)
}

/**
 * Makes the folder of a control socket, accessible to its owner only. Throws WEIR_BAD_ARGUMENT if the path is
 * too long. Throws it also if the folder belongs to somebody else or others may write to it, because they
 * could put a socket of their own there.
 */
export function prepareSocketFolder(path: string): void {
  checkSocketPath(path)
  const folder = dirname(path)
  const mend = 'choose another place with --socket'
  makeFolder(folder, { use: 'the control socket', mend, mode: 0o700, code: 'WEIR_BAD_ARGUMENT' })
  const stat = lstatSync(folder)
  const sticky = (stat.mode & 0o1000) !== 0
  const mine = process.getuid === undefined || stat.uid === process.getuid()
  if ((mine && (stat.mode & 0o022) === 0) || sticky) return
  throw new WeirError(
    'WEIR_BAD_ARGUMENT',
    `${folder} belongs to another user or others may write to it: ${mend}`,
  )
}
