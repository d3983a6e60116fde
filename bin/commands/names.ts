import { Command } from 'commander'

/**
 * The descriptions in `weir --help`, in its order. This file loads no command. The commands take their
 * descriptions from here.
 */
export const COMMANDS = {
  daemon: {
    usage: '[options]',
    description:
      'run the daemon of this host: it receives files, and sends and gets them for the other commands; stays in the foreground',
  },
  send: {
    usage: '[options] FILE… HOST[:PATH]',
    description: 'send files and folders into the inbox of a host that runs a daemon',
  },
  get: {
    usage: '[options] HOST:PATH… [TO]',
    description: 'get files that a host shares (its daemon runs with --share)',
  },
  tunnel: {
    usage: '[options] LISTEN [TARGET]',
    description:
      'carry TCP connections to a host whose daemon dials (it runs with --allow-tunnel); also as a SOCKS5 proxy',
  },
  status: {
    usage: '[options]',
    description:
      'print addresses, connections and rates of the daemon on this host, and everything that it dropped',
  },
  transfers: {
    usage: '[options]',
    description: 'list the transfers of the daemon on this host, in both directions',
  },
  cancel: {
    usage: '[options] ID…',
    description: 'cancel transfers at both ends, and remove the parts that arrived',
  },
  stop: {
    usage: '[options]',
    description: 'stop the daemon on this host, and wait until it is gone; its transfers can be resumed',
  },
  service: {
    usage: 'print [options]',
    description:
      'print a unit with which systemd runs the daemon of this host, and says when it is ready or hangs',
  },
  key: {
    usage: 'new|show [FILE]',
    description: "make this host's key, or show its public key: with keys, connections are sealed",
  },
  perf: {
    usage: 'bw|lat [options] HOST',
    description: 'measure bandwidth or latency between the daemon on this host and one on another',
  },
  ping: {
    usage: '[options] HOST | --listen',
    description:
      "send pings by RDMA to rping's server, or to weir ping --listen, and print round-trip times; needs no daemon",
  },
  run: { usage: '[options] SCENARIO', description: 'run a scenario file and report what happened' },
  inof: {
    usage: 'show|zone|bird …',
    description:
      'print which hosts of a lab have announced themselves, their zones, and BGP sessions; set zones (iNOF)',
  },
  lab: {
    usage: 'up|down|status|exec|set|pfc|list …',
    description: 'give any program an emulated network: namespaces, veth pairs, software switches',
  },
  cc: {
    usage: 'list|show …',
    description:
      'list the congestion controllers: what each needs of switches and peers, where it works, its constants',
  },
  doctor: {
    usage: '[options]',
    description: 'try what this machine allows; say what is missing, and how to fix it',
  },
  demo: {
    usage: '[options] [FILE]',
    description:
      'send a real file across an emulated network while another host sends too, and show rates and queues',
  },
  dump: {
    usage: '[options] CAPTURE|-',
    description: 'print the packets of a capture file, or of standard input, and verify their ICRCs',
  },
  completion: {
    usage: '[options] bash|zsh|fish',
    description: 'print a script with which a shell completes commands and options',
  },
} as const

export type CommandName = keyof typeof COMMANDS

/** Returns a command with its name and description, without options and action. */
export function commandOf(name: CommandName): Command {
  const { usage, description } = COMMANDS[name]
  return new Command(name).usage(usage).description(description)
}
