/**
 * Weir's end of rstream, with its verification: after 16 bytes each way, transfers from the client and then as many from the server.
 *
 *   weir-rstream ADDRESS listen|connect [to=ADDRESS] [size=4096] [count=20] [iters=4]
 */
import { Host } from '../../lib/index.js'
import { RSTREAM_PORT, StreamSocket } from '../../lib/interop/rsocket/stream-socket.js'

const [address, side, ...rest] = process.argv.slice(2)
const given = new Map(rest.map(pair => pair.split('=', 2) as [string, string]))
const count = (key: string, otherwise: number) => Number(given.get(key) ?? otherwise)
const bytes = count('size', 4096) * count('count', 20)

const host = await Host.open({ address: address! })
try {
  const stream =
    side === 'connect'
      ? await StreamSocket.connect(host, given.get('to')!)
      : await StreamSocket.accept(host, RSTREAM_PORT, () => console.log('listening'))
  let [out, into] = [0, 0]
  let rest = new Uint8Array(0)
  // rstream counts through all bytes of a direction.
  const send = async (length: number) => {
    await stream.write(Uint8Array.from({ length }, () => out++ & 0xff))
  }
  const take = async (length: number) => {
    for (let left = length; left > 0; ) {
      if (rest.length === 0) rest = Uint8Array.from((await stream.read()) ?? [])
      if (rest.length === 0) throw new Error('the stream has ended')
      const some = rest.subarray(0, left)
      for (const byte of some) if (byte !== (into++ & 0xff)) throw new Error(`byte ${into - 1} is ${byte}`)
      rest = rest.subarray(some.length)
      left -= some.length
    }
  }
  const turns = side === 'connect' ? [send, take] : [take, send]
  for (const turn of turns) await turn(16)
  for (let n = count('iters', 4); n > 0; n--) for (const turn of turns) await turn(bytes)
  await stream.close()
  console.log(`exact ${into}`)
} catch (error) {
  console.log(`failed: ${error instanceof Error ? error.message : error}`)
  process.exitCode = 1
}
await host.close()
