import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { WeirError } from '../../lib/errors.js'
import { offer } from '../../lib/offer.js'
import { pathInLab } from './lab-commands.js'
import { daemonSocket, inboxOf, isKept, LAB_MARK, type LabState, namespaceFile } from './lab-state.js'
import { inNamespacesOf, inNetwork, WITH_OWN_SYS } from './namespaces.js'
import { LABS_VARIABLE, labsFolder } from './runtime-folder.js'

/** Entering the mount namespace changes the working folder, so this restores it. */
const IN_FOLDER = ['sh', '-c', 'cd "$1" && shift && exec "$@"', 'weir-lab']
const NOT_FOUND = 127

/**
 * Runs a command where a host of a lab is, or where its switches are: with its network, the names of all
 * hosts, and `weir` on the PATH. WEIR_SOCKET names the host's daemon, WEIR_INBOX the folder that receives its
 * files. The command gets input, output and signals. Resolves with its exit code, or 128 and the number of a
 * signal.
 */
export async function execInLab(state: LabState, node: string, command: readonly string[]): Promise<number> {
  if (state.keeper === undefined || !isKept(state)) {
    const text = `processes of lab ${state.name} have ended: stop it with "weir lab down ${state.name}", and start it again`
    throw new WeirError('WEIR_BAD_STATE', text)
  }
  const isHost = state.hosts.some(({ name }) => name === node)
  if (!isHost && !state.hosts.some(host => host.switch === node)) {
    const names = [...state.hosts.map(({ name }) => name), ...new Set(state.hosts.map(host => host.switch))]
    throw new WeirError('WEIR_BAD_ARGUMENT', `lab ${state.name} has no ${node}; it has ${offer(node, names)}`)
  }
  const network = isHost ? inNetwork(namespaceFile(state.name, node)) : []
  const words = [
    ...inNamespacesOf(state.keeper.pid, state.privilege),
    ...network,
    ...WITH_OWN_SYS,
    ...IN_FOLDER,
    process.cwd(),
    ...command,
  ]
  const env = {
    ...process.env,
    [LAB_MARK]: state.id,
    [LABS_VARIABLE]: labsFolder(),
    PATH: pathInLab(state.name),
    WEIR_LAB: state.name,
    WEIR_LAB_NODE: node,
  }
  if (!isHost) return await run(words, env)
  const daemon = { WEIR_SOCKET: daemonSocket(state.name, node), WEIR_INBOX: inboxOf(state, node) }
  return await run(words, { ...env, ...daemon })
}

async function run(words: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const [program, ...args] = words
  const child = spawn(program!, args, { stdio: 'inherit', env })
  const forward = (name: NodeJS.Signals) => {
    // A terminal sends Ctrl-C to the command directly. It must not get it twice.
    if (name !== 'SIGINT' || !process.stdin.isTTY) child.kill(name)
  }
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGQUIT'] as const
  for (const name of names) process.on(name, forward)
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', cause => {
        const text = `${program} cannot be run: ${cause.message}; it comes with util-linux`
        reject(new WeirError('WEIR_UNSUPPORTED', text, { cause }))
      })
      child.once('exit', (code, signal) => {
        resolve(code ?? (signal === null ? NOT_FOUND : 128 + constants.signals[signal]))
      })
    })
  } finally {
    for (const name of names) process.removeListener(name, forward)
  }
}
