/**
 * Weir's end of rstream, with its verification: after 16 bytes each way, transfers from the client and then as many from the server.
 *
 *   weir-rstream ADDRESS listen|connect [to=ADDRESS] [size=4096] [count=20] [iters=4]
 */
import { RSTREAM_PORT, StreamSocket } from '../../lib/interop/rsocket/stream-socket.js'
import { numberOf, runEnd } from './weir-end.js'

const bytes = numberOf('size', 4096) * numberOf('count', 20)

await runEnd(async ({ host, connects, to }) => {
  const stream =
    to === null
      ? await StreamSocket.accept(host, RSTREAM_PORT, () => console.log('listening'))
      : await StreamSocket.connect(host, to)
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
  const turns = connects ? [send, take] : [take, send]
  for (const turn of turns) await turn(16)
  for (let n = numberOf('iters', 4); n > 0; n--) for (const turn of turns) await turn(bytes)
  await stream.close()
  return into
})
