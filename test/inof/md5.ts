import { protectSocket } from '../../lib/inof/tcp-socket.js'
import { loadLibc } from '../../lib/io/linux/libc.js'

const AF_INET = 2
const SOCK_STREAM = 1

/** Why TCP has no MD5 signatures here (RFC 2385), or false. */
export function md5Unsupported(): string | false {
  try {
    const fd = loadLibc().socket(AF_INET, SOCK_STREAM, 0)
    try {
      protectSocket(fd, { password: 'dam' }, ['127.0.0.1'])
    } finally {
      loadLibc().close(fd)
    }
    return false
  } catch (error) {
    return (error as Error).message
  }
}
