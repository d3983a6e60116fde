/** node:net between two processes: what a JavaScript program gets from the kernel's TCP without tuning. */
import { connect, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'

const CHUNK_BYTES = 1 << 20

export interface NodeTcpReport {
  bytes: number
  seconds: number
  cpuSeconds: number
}

/** Command lines of both ends. The server prints `ready`, and after one connection its report. */
export function nodeTcpServer(address: string): string[] {
  return [process.execPath, fileURLToPath(import.meta.url), 'server', address]
}

export function nodeTcpClient(address: string, seconds: number): string[] {
  return [process.execPath, fileURLToPath(import.meta.url), 'client', address, String(seconds)]
}

const PORT = 5299

function serve(address: string): void {
  const server = createServer(socket => {
    let bytes = 0
    const before = process.cpuUsage()
    const began = performance.now()
    socket.on('data', piece => {
      bytes += piece.length
    })
    socket.on('close', () => {
      report(bytes, (performance.now() - began) / 1000, before)
      server.close()
    })
    socket.on('error', () => {})
  })
  server.listen(PORT, address, () => process.stdout.write('ready\n'))
}

function send(address: string, seconds: number): void {
  const chunk = Buffer.alloc(CHUNK_BYTES, 'weir')
  const socket = connect(PORT, address, () => {
    const before = process.cpuUsage()
    const began = performance.now()
    const write = () => {
      while (performance.now() - began < seconds * 1000) if (!socket.write(chunk)) return
      socket.end()
    }
    socket.on('drain', write)
    socket.on('close', () => report(socket.bytesWritten, (performance.now() - began) / 1000, before))
    write()
  })
}

function report(bytes: number, seconds: number, before: NodeJS.CpuUsage): void {
  const { user, system } = process.cpuUsage(before)
  const report: NodeTcpReport = { bytes, seconds, cpuSeconds: (user + system) / 1e6 }
  process.stdout.write(`${JSON.stringify(report)}\n`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , role, address, seconds] = process.argv
  if (role === 'server') serve(address!)
  else send(address!, Number(seconds))
}
