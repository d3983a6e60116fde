/**
 * The state of each lab on disk: enough to find it again, to enter it, and to take it down whatever process
 * has ended.
 */
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { WeirError } from '../../lib/errors.js'
import { offer } from '../../lib/offer.js'
import { DELIVERED_NAME } from '../../lib/transfer/protocol/names.js'
import type { CapturePlace } from '../captures/port-captures.js'
import type { Privilege } from './namespaces.js'
import type { HostPlan } from './network-plan.js'
import { isAlive, type ProcessId, processesMarked } from './processes.js'
import { labsFolder, prepareLabsFolder, removeLabsFolder } from './runtime-folder.js'

/** A lab in its `state.json`. */
export interface LabState {
  version: 1
  name: string
  /** The value of LAB_MARK in the environment of every process of the lab. It is never used again. */
  id: string
  /** The scenario file, absolute, with links resolved. */
  file: string
  startedUnixMs: number
  /** The process that brings it up, or brought it up. */
  owner: ProcessId
  privilege: Privilege
  /** The port of the daemons: `--io`. */
  io: string
  /** It is removed with the lab. It contains the files that the hosts receive, unless `inboxFolder` does. */
  dataFolder: string
  /** It contains the files that the hosts receive, and remains. Absent: they are in `dataFolder`. */
  inboxFolder?: string
  /** Where every switch port is captured. Absent: nowhere. */
  captures?: CapturePlace
  /** The process that holds the namespaces. All others are its children. Absent until it runs. */
  keeper?: ProcessId
  /** The network namespaces by the kernel's names. */
  namespaces: string[]
  hosts: HostPlan[]
  /** The switch process and the daemons. */
  processes: (ProcessId & { name: string })[]
  /** True when everything is there. */
  up: boolean
}

/** Environment variable in every process of a lab. Its value is the lab's id. */
export const LAB_MARK = 'WEIR_LAB_ID'

const STATE_FILE = 'state.json'
/** A lab's name is part of the paths of folders and sockets, whose length is bounded. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/

export function labFolder(name: string): string {
  return join(labsFolder(), name)
}

/** The socket of a host's daemon. */
export function daemonSocket(lab: string, host: string): string {
  return join(labFolder(lab), `${host}.sock`)
}

/** The folder that receives the files of a host. */
export function inboxOf({ inboxFolder, dataFolder }: LabState, host: string): string {
  return join(inboxFolder ?? dataFolder, host)
}

/** Number of files that `weir lab down` removes with the lab. */
export function receivedFiles({ inboxFolder, dataFolder }: LabState): number {
  if (inboxFolder !== undefined || !existsSync(dataFolder)) return 0
  const entries = readdirSync(dataFolder, { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile() && !entry.name.startsWith(DELIVERED_NAME)).length
}

/** The socket on which the keeper answers. */
export function keeperSocket(lab: string): string {
  return join(labFolder(lab), 'keeper.sock')
}

/** The file of the host's network namespace, within the lab's mount namespace. */
export function namespaceFile(lab: string, host: string): string {
  return join(labFolder(lab), 'net', host)
}

/**
 * Takes the lab's name. The state is in place at the same moment, so that no other command finds an
 * incomplete lab. Throws WEIR_BAD_ARGUMENT, and WEIR_BAD_STATE when a lab of that name exists.
 */
export function claimLab(state: LabState): void {
  if (!NAME.test(state.name)) {
    const text = `"${state.name}" cannot name a lab: 1 to 32 letters, digits, dots, _ and - are expected; choose one with --name`
    throw new WeirError('WEIR_BAD_ARGUMENT', text)
  }
  const before = readState(state.name)
  if (before !== null && isGone(before)) forgetLab(before)
  const made = newFolder()
  writeFileSync(join(made, STATE_FILE), JSON.stringify(state), { mode: 0o600 })
  try {
    renameSync(made, labFolder(state.name))
  } catch (cause) {
    rmSync(made, { recursive: true, force: true })
    const there = readState(state.name)
    const how = there?.up ? 'is up already' : 'is starting, or was left behind'
    const text = `lab ${state.name} ${how}${there ? ` (${there.file})` : ''}: stop it with "weir lab down ${state.name}", or give this one another name with --name`
    throw new WeirError('WEIR_BAD_STATE', text, { cause })
  }
}

/** Makes a folder for a lab that has no name yet. */
function newFolder(): string {
  for (;;) {
    try {
      return mkdtempSync(join(prepareLabsFolder(), `.new-${process.pid}-`))
    } catch (error) {
      // The last lab ended in between, and its folder was removed.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
}

/** Replaces the state atomically. A lab that has been taken down meanwhile remains so. */
export function writeState(state: LabState): void {
  const folder = labFolder(state.name)
  try {
    writeFileSync(join(folder, `${STATE_FILE}.new`), JSON.stringify(state), { mode: 0o600 })
    renameSync(join(folder, `${STATE_FILE}.new`), join(folder, STATE_FILE))
  } catch (cause) {
    throw new WeirError('WEIR_CANCELLED', `lab ${state.name} has been taken down`, { cause })
  }
}

/** Returns null when there is no lab of that name. */
export function readState(name: string): LabState | null {
  try {
    const state = JSON.parse(readFileSync(join(labFolder(name), STATE_FILE), 'utf8')) as LabState
    return state.version === 1 ? state : null
  } catch {
    return null
  }
}

/** Returns all labs of this user, by name. */
export function allLabs(): LabState[] {
  let names: string[]
  try {
    names = readdirSync(labsFolder())
  } catch {
    return []
  }
  const labs = names
    .filter(name => !isUnnamed(name))
    .sort()
    .map(readState)
    .filter(state => state !== null)
    .filter(state => !forgetStillborn(state))
  if (labs.length === 0) removeLabsFolder()
  return labs
}

/** Returns whether `newFolder` made the folder. Removes it if the process that made it has ended. */
function isUnnamed(name: string): boolean {
  const owner = /^\.new-(\d+)-/.exec(name)?.[1]
  if (owner === undefined) return false
  if (!existsSync(`/proc/${owner}`)) rmSync(labFolder(name), { recursive: true, force: true })
  return true
}

/** Removes the rest of a lab that was killed while it came up. Returns whether it was one. */
function forgetStillborn(state: LabState): boolean {
  const stillborn = !state.up && !isAlive(state.owner) && isGone(state)
  if (stillborn) forgetLab(state)
  return stillborn
}

/** Removes the lab's files. Its processes must have ended. */
export function forgetLab(state: LabState): void {
  rmSync(state.dataFolder, { recursive: true, force: true })
  const folder = labFolder(state.name)
  // A lab of the same name may have come up meanwhile. It is another one.
  if (readState(state.name)?.id === state.id) rmSync(folder, { recursive: true, force: true })
  removeLabsFolder()
}

/** True if no process of the lab is left, so that its files mean nothing. */
function isGone(state: LabState): boolean {
  return !isKept(state) && processesMarked(LAB_MARK, state.id).length === 0
}

/** True if the keeper is alive, and with it the namespaces. */
export function isKept(state: LabState): boolean {
  return state.keeper !== undefined && isAlive(state.keeper)
}

/**
 * Returns the lab that `text` names. Throws WEIR_BAD_ARGUMENT when there is none, and what `lookUpLab`
 * throws.
 */
export function findLab(text: string): LabState {
  const found = lookUpLab(text)
  if (found !== null) return found
  const names = allLabs().map(({ name }) => name)
  throw new WeirError(
    'WEIR_BAD_ARGUMENT',
    names.length === 0
      ? 'no lab is up; start one with "weir lab up FILE"'
      : `no lab is called ${text} and none came from such a file; there are ${offer(text, names)}`,
  )
}

/**
 * Returns the lab of that name, or the one from that file, or null. Throws WEIR_BAD_ARGUMENT when several
 * came from that file.
 */
export function lookUpLab(text: string): LabState | null {
  const labs = allLabs()
  const named = labs.find(({ name }) => name === text)
  if (named !== undefined) return named
  const file = resolveFile(text)
  const found = labs.filter(lab => lab.file === file)
  if (found.length > 1) {
    const names = found.map(({ name }) => name).join(', ')
    throw new WeirError('WEIR_BAD_ARGUMENT', `several labs came from ${text}: name one of ${names}`)
  }
  return found[0] ?? null
}

/** Returns the absolute path of a file with links resolved, or null when there is none. */
export function resolveFile(path: string): string | null {
  try {
    return realpathSync(path)
  } catch {
    return null
  }
}
