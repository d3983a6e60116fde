/**
 * Weir's end of udaddy, which finds its peer by RDMA_PS_UDP: the client sends messages whose immediate is its QPN, the server answers all.
 *
 *   weir-udaddy ADDRESS listen|connect [to=ADDRESS] [count=10] [size=100]
 */
import { Access, Completion, datagramSource, WorkOpcode, workStatusName } from '../../lib/index.js'
import { numberOf, runEnd } from './weir-end.js'

const count = numberOf('count', 10)
const size = numberOf('size', 100)

const PORT = 7174
/** Q_Key of RDMA_PS_UDP in Linux. */
const QKEY = 0x0123_4567
const GRH_BYTES = 40
const WAIT_MS = 40_000

const late = setTimeout(() => {
  console.log('failed: nothing has come for too long')
  process.exit(1)
}, WAIT_MS)
await runEnd(async ({ host, to: server }) => {
  const slot = GRH_BYTES + size
  const region = await host.register(new SharedArrayBuffer(count * slot + size), Access.LOCAL_WRITE)
  const pair = await host.createDatagramPair({ qkey: QKEY })
  for (let id = 0; id < count; id++) pair.postReceive({ id, region, offset: id * slot, length: slot })
  const done = new Completion()
  let [sent, received, peerQpn] = [0, 0, 0]
  const next = async () => {
    await pair.next(done)
    if (done.status !== 0) throw new Error(workStatusName(done.status))
    if (!done.isReceive) sent++
    else {
      received++
      peerQpn = done.immediate
      if (done.byteLength !== slot || done.sourceQpn !== peerQpn)
        throw new Error(`${done.byteLength} bytes of ${done.sourceQpn}, which calls itself ${peerQpn}`)
    }
  }
  const sendAll = async (remote: string, qpn: number, qkey: number) => {
    const to = { address: (await host.createAddress(remote)).id, qpn, qkey }
    const what = { opcode: WorkOpcode.SEND_WITH_IMM, immediate: pair.qpn, region, to }
    for (let id = 0; id < count; id++) pair.postSend({ id, ...what, offset: count * slot, length: size })
  }
  if (server !== null) {
    const { qpn, qkey } = await host.resolveDatagrams(server, PORT)
    await sendAll(server, qpn, qkey)
  } else {
    await host.serveDatagrams(PORT, pair)
    console.log('listening')
    while (received < count) await next()
    await sendAll(datagramSource(region.bytes), peerQpn, QKEY)
  }
  while (received < count || sent < count) await next()
  return received
})
clearTimeout(late)
