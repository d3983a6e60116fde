/** Finds out what this machine lets Weir do. It tries everything, and removes what it made. */
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { WeirError } from '../../lib/errors.js'
import { libcFault } from '../../lib/io/linux/libc.js'
import { PacketSocket } from '../../lib/io/linux/packet-socket.js'
import { rawFault } from '../../lib/io/ports/raw-port.js'
import { receiveBufferBytes, SOCKET_BUFFER_BYTES } from '../../lib/io/ports/socket-buffers.js'
import { automaticIo } from '../../lib/open-nic/open-port.js'
import { formatBytes } from '../../lib/units/units.js'
import * as crc32 from '../../lib/wire/bytes/crc32.js'
import { PORT_INT, PORT_ROCE } from '../../lib/wire/net/udp.js'
import { advice, choosePrivilege, namespacesRefused, type Privilege } from './namespaces.js'
import { probePacketSockets } from './probe.js'
import { prepareLabsFolder, removeLabsFolder } from './runtime-folder.js'
import { udpFault } from './udp-fault.js'
import { trial } from './veth-support.js'

/** The result of one trial. */
interface Check {
  name: string
  /** `warn`: Weir works, but less well. `fail`: what it affects does not work. */
  status: 'ok' | 'warn' | 'fail'
  found: string
  affects: string
  /** How to mend it. */
  fix?: string
}

/** Whether something works here, and why not. */
export interface DoctorVerdict {
  works: boolean
  why?: string
}

/** Output of `weir doctor --json`. */
export interface Diagnosis {
  checks: Check[]
  /** Places for `weir run --on`. */
  on: Record<'virtual' | 'overlay' | 'veth', DoctorVerdict>
  /** Ways for `weir daemon --io`; `packetInLabs` is `packet` for the hosts of labs. */
  io: Record<'dgram' | 'batch' | 'raw' | 'packet' | 'packetInLabs', DoctorVerdict>
  /** The port that `--io auto` uses, and why not a faster one. */
  auto: { takes: string; why?: string }
}

/** What the checks need from the command. */
interface DoctorOptions {
  /** The required version of Node.js, "20.15". */
  nodeLeast: string
  /** Where a daemon keeps files by default. */
  inbox: string
}

const LOOPBACK = '127.0.0.1'
/** Programs that are useful in labs, and their purpose. */
const TOOLS: readonly (readonly [name: string, affects: string, packages: string])[] = [
  ['ping', 'to try a lab', 'iputils-ping'],
  ['iperf3', 'to measure TCP and UDP through a lab', 'iperf3'],
  ['tshark', 'to look into packets; tests of captures', 'tshark'],
]

export async function diagnose(options: DoctorOptions): Promise<Diagnosis> {
  const node = checkNode(options.nodeLeast)
  const koffi = checkKoffi()
  const loopback = await checkLoopback()
  const [labs, privilege] = checkLabs()
  const [packet, captures] = checkPacketSockets(koffi, privilege)
  const lab = [koffi, ...labs, packet, checkLabsFolder()]
  const checks = [
    node,
    checkPlatform(),
    checkCrc(),
    checkCrcLibrary(koffi),
    loopback,
    ...(await checkPorts()),
    ...checkBuffers(),
    checkFolder(options.inbox),
    ...lab,
    captures,
    ...TOOLS.map(checkTool),
  ]
  const here = (fault: string | null): DoctorVerdict =>
    fault === null ? { works: true } : { works: false, why: fault }
  return {
    checks,
    on: {
      virtual: verdict([node]),
      overlay: verdict([node, loopback]),
      veth: verdict([node, ...lab]),
    },
    io: {
      dgram: verdict([node, loopback]),
      batch: verdict([node, loopback, koffi]),
      raw: here(rawFault()),
      packet: here(packetHere()),
      packetInLabs: verdict([node, ...lab]),
    },
    auto: automaticIo(),
  }
}

function verdict(needed: readonly Check[]): DoctorVerdict {
  const missing = needed.find(({ status }) => status === 'fail')
  return missing === undefined ? { works: true } : { works: false, why: `${missing.name}: ${missing.found}` }
}

function checkNode(least: string): Check {
  const number = (version: string) => {
    const [major = 0, minor = 0] = version
      .replace(/^[^\d]*/, '')
      .split('.')
      .map(Number)
    return major * 1000 + minor
  }
  const check = { name: 'node', found: process.version, affects: 'everything' }
  if (number(process.version) >= number(least)) return { ...check, status: 'ok' }
  return { ...check, status: 'fail', fix: `install Node.js ${least} or later` }
}

function checkPlatform(): Check {
  const check = {
    name: 'platform',
    found: `${process.platform} ${process.arch}`,
    affects: 'labs; fast ports',
  }
  if (process.platform === 'linux') return { ...check, status: 'ok' }
  return { ...check, status: 'warn', fix: 'run it on Linux; the overlay and virtual time work here' }
}

function checkKoffi(): Check {
  const fault = libcFault()
  const check = { name: 'koffi', affects: 'labs; --io batch and packet' }
  if (fault === null) return { ...check, status: 'ok', found: 'calls the C library' }
  return { ...check, status: 'fail', found: fault, fix: 'npm install --include=optional' }
}

function checkCrc(): Check {
  const found = crc32.implementation
  const check = { name: '@node-rs/crc32', affects: 'speed: every packet has a checksum' }
  if (found.includes('node-rs')) return { ...check, status: 'ok', found }
  return {
    ...check,
    status: 'warn',
    found: `absent, ${found} replaces it`,
    fix: 'npm install --include=optional',
  }
}

function checkCrcLibrary(koffi: Check): Check {
  const check = {
    name: 'libdeflate',
    affects: 'speed: checksums take half to three quarters of the time with it',
  }
  const routine = crc32.crc32ByAddress()
  if (routine !== null) return { ...check, status: 'ok', found: `${routine.library} computes checksums` }
  if (koffi.status !== 'ok')
    return { ...check, status: 'warn', found: 'not tried: it needs koffi', fix: 'see below' }
  const fix = 'sudo apt-get install libdeflate0 (Fedora: libdeflate), or libisal2'
  return { ...check, status: 'warn', found: `absent, ${crc32.implementation} replaces it`, fix }
}

async function checkLoopback(): Promise<Check> {
  const fault = await udpFault(LOOPBACK, 0)
  const check = { name: 'udp', affects: 'daemons; the overlay' }
  if (fault === null) return { ...check, status: 'ok', found: `sockets on ${LOOPBACK}` }
  return { ...check, status: 'fail', found: fault, fix: 'allow UDP sockets on loopback (ip link set lo up)' }
}

async function checkPorts(): Promise<Check[]> {
  return await Promise.all(
    [PORT_ROCE, PORT_INT].map(async (port): Promise<Check> => {
      const fault = await udpFault(LOOPBACK, port)
      const check = { name: `port ${port}`, affects: 'weir daemon on 127.0.0.1' }
      if (fault === null) return { ...check, status: 'ok', found: 'free' }
      return {
        ...check,
        status: 'warn',
        found: fault,
        fix: 'if no daemon of yours has it: weir daemon --port N, or --address',
      }
    }),
  )
}

function checkBuffers(): Check[] {
  if (process.platform !== 'linux') return []
  const wanted = [
    ['rmem_max', receiveBufferBytes()],
    ['wmem_max', SOCKET_BUFFER_BYTES],
  ] as const
  return wanted.map(([name, asked]): Check => {
    const bytes = sysctl(`net/core/${name}`)
    const check = { name, affects: 'speed and losses of --io dgram and batch' }
    if (bytes === null) return { ...check, status: 'ok', found: 'not shown here' }
    // The kernel doubles the requested size, and counts its own overhead.
    if (bytes * 2 >= asked) return { ...check, status: 'ok', found: formatBytes(bytes) }
    const fix = `sudo sysctl net.core.${name}=${asked}`
    return { ...check, status: 'warn', found: formatBytes(bytes), fix }
  })
}

function checkFolder(folder: string): Check {
  let existing = folder
  while (!existsSync(existing) && existing !== dirname(existing)) existing = dirname(existing)
  const check = { name: 'inbox', affects: 'files that weir daemon receives' }
  try {
    accessSync(existing, constants.W_OK | constants.X_OK)
    return { ...check, status: 'ok', found: folder }
  } catch {
    return {
      ...check,
      status: 'warn',
      found: `${existing} cannot be written to`,
      fix: 'weir daemon --inbox DIR',
    }
  }
}

/** Checks iproute2, namespaces and veth. Returns how namespaces can be made, if they can. */
function checkLabs(): [Check[], Privilege | null] {
  if (process.platform !== 'linux') {
    const check = { name: 'namespaces', affects: 'labs', found: `there are none on ${process.platform}` }
    return [[{ ...check, status: 'fail', fix: 'run it on Linux' }], null]
  }
  const ip = checkIproute()
  try {
    const privilege = choosePrivilege()
    const how = privilege === 'root' ? 'as root' : 'in a user namespace'
    const namespaces: Check = { name: 'namespaces', affects: 'labs', status: 'ok', found: how }
    return [[ip, namespaces, checkUserNamespaces(privilege), checkVethPairs(privilege)], privilege]
  } catch (error) {
    const found = (error as Error).message.split('. ')[0]!
    return [[ip, { name: 'namespaces', affects: 'labs', status: 'fail', found, fix: advice().fix }], null]
  }
}

function checkIproute(): Check {
  const tried = spawnSync('ip', ['-Version'], { encoding: 'utf8' })
  const check = { name: 'iproute2', affects: 'labs' }
  if (tried.status === 0) return { ...check, status: 'ok', found: tried.stdout.trim() }
  return { ...check, status: 'fail', found: 'no command ip', fix: 'sudo apt-get install iproute2' }
}

function checkUserNamespaces(privilege: Privilege): Check {
  const refused = privilege === 'user' ? null : namespacesRefused('user')
  const check = { name: 'user namespaces', affects: 'labs of ordinary users' }
  if (refused === null) return { ...check, status: 'ok', found: 'can be made' }
  return { ...check, status: 'warn', found: refused, fix: advice().fix }
}

function checkVethPairs(privilege: Privilege): Check {
  const said = trial(privilege)
  const check = { name: 'veth', affects: 'labs' }
  if (said === null) return { ...check, status: 'ok', found: 'a pair was made' }
  return { ...check, status: 'fail', found: said, fix: advice().fix }
}

/** Checks packet sockets, and what tcpdump and tshark see of them. */
function checkPacketSockets(koffi: Check, privilege: Privilege | null): [Check, Check] {
  const check = { name: 'packet sockets', affects: 'labs; --io packet' }
  const captures = { name: 'captures', affects: 'tcpdump and tshark in labs' }
  const untried = { found: 'not tried: what they need is missing', fix: 'see above' }
  if (koffi.status === 'fail' || privilege === null) {
    return [
      { ...check, ...untried, status: 'fail' },
      { ...captures, ...untried, status: 'warn' },
    ]
  }
  const { fault, seen } = probePacketSockets(privilege)
  if (fault !== null) {
    return [
      { ...check, status: 'fail', found: fault, fix: advice().fix },
      { ...captures, ...untried, status: 'warn' },
    ]
  }
  const found = 'they see both directions of every port'
  return [
    { ...check, status: 'ok', found: 'a ring was mapped on a veth pair' },
    seen
      ? { ...captures, status: 'ok', found }
      : {
          ...captures,
          status: 'warn',
          found: 'they miss what the ports of Weir send',
          fix: 'weir lab up --pcap DIR',
        },
  ]
}

/** Returns why packet sockets do not work outside labs, or null. */
function packetHere(): string | null {
  try {
    new PacketSocket('lo').close()
    return null
  } catch (error) {
    return (error as WeirError).message
  }
}

function checkLabsFolder(): Check {
  const check = { name: 'labs folder', affects: 'labs' }
  try {
    const found = prepareLabsFolder()
    removeLabsFolder()
    return { ...check, status: 'ok', found }
  } catch (error) {
    if (!(error instanceof WeirError)) throw error
    return { ...check, status: 'fail', found: error.message, fix: 'set WEIR_LABS to a folder of your own' }
  }
}

function checkTool([name, affects, packages]: readonly [string, string, string]): Check {
  const found = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout?.trim()
  if (found) return { name, status: 'ok', found, affects }
  return { name, status: 'warn', found: 'not installed', affects, fix: `sudo apt-get install ${packages}` }
}

function sysctl(name: string): number | null {
  try {
    return Number(readFileSync(`/proc/sys/${name}`, 'utf8'))
  } catch {
    return null
  }
}
