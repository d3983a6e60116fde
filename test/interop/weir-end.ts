/**
 * What Weir's ends of other programs have in common. Each is run as
 *
 *   NAME ADDRESS listen|connect [to=ADDRESS] [io=auto] [key=value …]
 *
 * and prints `listening` where somebody waits for that, `exact N` last, or `failed: …` and exits with 1.
 */
import { Host } from '../../lib/index.js'

const [address, side, ...rest] = process.argv.slice(2)
const given = new Map(rest.map(pair => pair.split(/=(.*)/s, 2) as [string, string]))

interface WeirEnd {
  host: Host
  address: string
  connects: boolean
  /** The other end's address; null: this end listens. */
  to: string | null
}

export function textOf(key: string, otherwise: string): string {
  return given.get(key) ?? otherwise
}

export function numberOf(key: string, otherwise: number): number {
  return Number(given.get(key) ?? otherwise)
}

export async function openEnd(): Promise<WeirEnd> {
  const connects = side === 'connect'
  const host = await Host.open({ address: address!, io: textOf('io', 'auto') })
  return { host, address: address!, connects, to: connects ? textOf('to', '') : null }
}

/** @param serve returns how many messages, or bytes, were exact */
export async function runEnd(serve: (end: WeirEnd) => Promise<number>, opened?: WeirEnd): Promise<void> {
  const end = opened ?? (await openEnd())
  try {
    console.log(`exact ${await serve(end)}`)
  } catch (error) {
    console.log(`failed: ${error instanceof Error ? error.message : error}`)
    process.exitCode = 1
  }
  await end.host.close()
}
