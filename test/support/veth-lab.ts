/** A scenario on veth for tests: a namespace for each host and one for the switch process, made by hand. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { macOf } from '../../lib/nic/config.js'
import { weirProgram } from '../../lib/package-file.js'
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { formatMac } from '../../lib/wire/net/mac.js'
import type { SwitchQuestion, SwitchReply } from '../../switch-emu/real-time/switch-messages.js'
import type { VethLink, VethStart } from '../../switch-emu/veth/veth-messages.js'
import type { EchoResult } from './echo.js'
import { Namespaces } from './netns.js'

const WEIR = weirProgram()

interface VethLabOptions {
  mtu?: number
  start?: Partial<VethStart>
  /** What runs the switch process: words before `node`, and arguments of node. */
  prefix?: string[]
  nodeArgs?: string[]
}

export class VethLab {
  readonly scenario: Scenario
  readonly namespaces: Namespaces
  /** Host → its namespace, where its interface is eth0. */
  readonly hosts = new Map<string, string>()
  readonly switchNamespace: string
  #process!: ChildProcess
  #replies: ((reply: SwitchReply) => void)[] = []
  #stderr = ''

  static async up(t: Pick<Test, 'teardown'>, yaml: string, options: VethLabOptions = {}): Promise<VethLab> {
    const lab = new VethLab(t, yaml, options.mtu ?? 1500)
    await lab.#start(t, options)
    return lab
  }

  private constructor(t: Pick<Test, 'teardown'>, yaml: string, mtu: number) {
    this.scenario = parseScenario(yaml, 'veth.yaml')
    this.namespaces = new Namespaces(t)
    this.switchNamespace = this.namespaces.add('sw')
    for (const { name, address } of this.scenario.hosts) {
      const ns = this.namespaces.add(name)
      this.hosts.set(name, ns)
      const host = {
        ns,
        name: 'eth0',
        mac: formatMac(macOf(HostAddress.parse(address))),
        address: `${address}/8`,
      }
      this.namespaces.veth(host, { ns: this.switchNamespace, name: `to-${name}` }, mtu)
    }
  }

  address(host: string): string {
    return this.scenario.hosts.find(({ name }) => name === host)!.address
  }

  /** Runs a command in a host's namespace. */
  exec(host: string, command: string, ...args: string[]): string {
    return this.namespaces.exec(this.hosts.get(host)!, command, ...args)
  }

  /** Sends echo requests from one host to another. */
  echo(from: string, to: string, options?: { count?: number; ttl?: number }): Promise<EchoResult> {
    return this.namespaces.echo(this.hosts.get(from)!, this.address(to), options)
  }

  /** As `exec`, without blocking: resolves with what it printed when it has ended. */
  run(host: string, ...args: string[]): Promise<string> {
    const child = this.namespaces.spawn(this.hosts.get(host)!, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let out = ''
    let err = ''
    child.stdout!.on('data', data => {
      out += data
    })
    child.stderr!.on('data', data => {
      err += data
    })
    return new Promise((resolve, reject) => {
      child.once('exit', code => {
        if (code === 0) resolve(out)
        else reject(new Error(`${args.join(' ')}: exit code ${code}: ${out}${err}`))
      })
    })
  }

  async ask<K extends SwitchReply['type']>(
    request: SwitchQuestion | VethStart,
    type: K,
  ): Promise<Extract<SwitchReply, { type: K }>> {
    const reply = await new Promise<SwitchReply>(resolve => {
      this.#replies.push(resolve)
      this.#process.send(request)
    })
    if (reply.type !== type) throw new Error(`${JSON.stringify(reply)} ${this.#stderr}`)
    return reply as Extract<SwitchReply, { type: K }>
  }

  /** Id of the switch process. */
  get pid(): number {
    return this.#process.pid!
  }

  async down(): Promise<void> {
    if (this.#process.exitCode !== null) return
    const exited = new Promise(resolve => this.#process.once('exit', resolve))
    this.#process.disconnect()
    await exited
  }

  async #start(t: Pick<Test, 'teardown'>, options: VethLabOptions): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), 'weir-test-'))
    const { prefix = [], nodeArgs = [] } = options
    const args = ['netns', 'exec', this.switchNamespace, ...prefix, process.execPath, ...nodeArgs]
    this.#process = spawn('ip', [...args, WEIR, 'internal', 'veth-switch', folder], {
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    })
    t.teardown(() => {
      this.#process.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    })
    this.#process.stderr!.on('data', data => {
      this.#stderr += data
    })
    this.#process.once('exit', () => {
      for (const reply of this.#replies)
        reply({ type: 'error', code: 'WEIR_INTERNAL', message: 'it has ended' })
    })
    const up = new Promise<SwitchReply>(resolve => this.#replies.push(resolve))
    this.#process.on('message', (reply: SwitchReply) => this.#replies.shift()?.(reply))
    const first = await up
    if (first.type !== 'up') throw new Error(JSON.stringify(first))
    const links: VethLink[] = this.scenario.hosts.map(({ name }) => ({ host: name, interface: `to-${name}` }))
    await this.ask({ type: 'start', scenario: this.scenario, links, ...options.start }, 'started')
  }
}
