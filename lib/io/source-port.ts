/**
 * The source port of a port on ordinary sockets. Those of RoCEv2 lie in 0xc000 to 0xffff. The same for all hosts with the same ports, so that both
 * directions of a connection have it, and a symmetric hash sends them by one path. Never one of the ports that receive.
 */
export function sourcePortFor(rocePort: number): number {
  return 0xc000 | ((rocePort + 0x1000) & 0x3fff)
}
