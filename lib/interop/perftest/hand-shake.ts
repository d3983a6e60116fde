/** What the two ends say first: version, buffer sizes, path MTU. */
import type { MessageExchange } from './message-exchange.js'
import {
  CACHE_LINE,
  CYCLE_BUFFER,
  MTU_BYTES,
  mtuOf,
  NUMBER_BYTES,
  numberOf,
  readMtu,
  readVersion,
  VERSION,
  VERSION_BYTES,
  versionOf,
} from './messages.js'

/** What the ends have agreed on. */
export interface Agreed {
  version: string
  pathMtu: number
}

/** @param speaksFirst the client does */
export async function shakeHands(
  exchange: MessageExchange,
  speaksFirst: boolean,
  pathMtu: number,
): Promise<Agreed> {
  const swap = async (mine: Uint8Array, bytes: number): Promise<Uint8Array> => {
    if (speaksFirst) await exchange.write(mine)
    const theirs = await exchange.read(bytes)
    if (!speaksFirst) await exchange.write(mine)
    return theirs
  }
  const version = readVersion(await swap(versionOf(VERSION), VERSION_BYTES))
  for (const number of [CYCLE_BUFFER, CACHE_LINE]) await swap(numberOf(number), NUMBER_BYTES)
  const theirs = readMtu(await swap(mtuOf(pathMtu), MTU_BYTES))
  return { version, pathMtu: Math.min(pathMtu, theirs) }
}
