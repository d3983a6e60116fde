/**
 * The file of a host's own key pair. Three lines: what it is, the public key for people, the private key.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { WeirError } from '../errors.js'
import { whyNotRead } from '../file-reason.js'
import { keyText } from './key-text.js'
import { readPrivateFile } from './private-file.js'
import { KEY_BYTES, type KeyPair, keyPairOf, newKeyPair, rawPrivate } from './x25519.js'

const TITLE = '# The private key of a Weir host. Whoever has it can be that host.'
const PUBLIC = '# public: '
const PRIVATE = 'private-x25519:'
const FILE_BYTES_MAX = 4096

/** Where `configPath` is by default, for people. */
export const HOME_CONFIG = '~/.config/weir'

/** `$XDG_CONFIG_HOME/weir/NAME`, by default in ~/.config. */
export function configPath(name: string, env: NodeJS.ProcessEnv = process.env): string {
  return join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'weir', name)
}

/** Makes a key pair and its file, which must not exist. Throws WEIR_FILE_EXISTS, WEIR_NO_FILE. */
export function makeIdentityFile(path: string): KeyPair {
  const pair = newKeyPair()
  const lines = [TITLE, PUBLIC + keyText(pair.publicKey), PRIVATE + rawPrivate(pair).toString('base64url')]
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      const text = `${path}: there is a file already. A key that is gone cannot be made again, so nothing replaces it: name another file, or remove this one`
      throw new WeirError('WEIR_FILE_EXISTS', text)
    }
    throw new WeirError('WEIR_NO_FILE', `${path}: ${whyNotRead(error)}`, { cause: error })
  }
  return pair
}

/** The key pair of the file, which is made if there is none. Throws as `makeIdentityFile` and `readIdentityFile`. */
export function identityAt(path: string): KeyPair {
  try {
    return makeIdentityFile(path)
  } catch (error) {
    if ((error as WeirError).code === 'WEIR_FILE_EXISTS') return readIdentityFile(path)
    throw error
  }
}

/** Throws WEIR_NO_FILE; WEIR_BAD_ARGUMENT if others may use the file, or it has no key. */
export function readIdentityFile(path: string): KeyPair {
  let text = ''
  try {
    const bytes = readPrivateFile(path, FILE_BYTES_MAX)
    if (bytes.length <= FILE_BYTES_MAX) text = bytes.toString('utf8')
  } catch (error) {
    if (error instanceof WeirError) throw error
    throw new WeirError('WEIR_NO_FILE', `${path}: ${whyNotRead(error)}: make a key with weir key new`, {
      cause: error,
    })
  }
  const line = text.split('\n').find(line => line.startsWith(PRIVATE)) ?? ''
  const key = Buffer.from(line.slice(PRIVATE.length).trim(), 'base64url')
  if (key.length === KEY_BYTES) return keyPairOf(key)
  throw new WeirError(
    'WEIR_BAD_ARGUMENT',
    `${path}: no key of a Weir host is in it: make one with weir key new`,
  )
}
