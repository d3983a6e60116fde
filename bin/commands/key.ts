import type { Command } from 'commander'
import { WeirError } from '../../lib/errors.js'
import {
  configPath,
  HOME_CONFIG,
  identityAt,
  makeIdentityFile,
  readIdentityFile,
} from '../../lib/secure/identity-file.js'
import { keyText } from '../../lib/secure/key-text.js'
import { commandOf } from './names.js'

/** `weir key` */
export function keyCommand(): Command {
  const command = commandOf('key')
  command
    .command('new')
    .argument('[file]', `where the key goes (default: ${HOME_CONFIG}/key)`)
    .description('make a key for this host, in a file that only you may read; print its public key')
    .option('--if-missing', 'a key that is there stays, and its public key is printed')
    .action((file = defaultIdentity(), { ifMissing }: { ifMissing?: boolean }) =>
      print(keyText((ifMissing ? identityAt(file) : makeIdentityFile(file)).publicKey)),
    )
  command
    .command('show')
    .argument('[file]', `the key file (default: ${HOME_CONFIG}/key)`)
    .description('print the public key: other hosts note it in their known peers')
    .action((file = defaultIdentity()) => print(keyText(readIdentityFile(file).publicKey)))
  return command.action(() => {
    throw new WeirError('WEIR_BAD_ARGUMENT', 'weir key takes new or show')
  })
}

/** Where `weir key new` puts a key. */
function defaultIdentity(): string {
  return configPath('key')
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
