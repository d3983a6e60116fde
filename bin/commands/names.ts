import { Command } from 'commander'

/** What `weir --help` says of each command, in its order. It loads none of them: they have it from here as well. */
export const COMMANDS = {
  daemon: {
    usage: '[options]',
    description:
      'serve this host: receive files into the inbox, send and get them for "weir send" and "weir get"; runs in the foreground',
  },
  send: {
    usage: '[options] FILE… HOST[:DIR]',
    description: 'send files into the inbox of a host that runs a daemon',
  },
  get: {
    usage: '[options] HOST:PATH… [DIR]',
    description: 'get files that a host shares (its daemon runs with --share)',
  },
  status: {
    usage: '[options]',
    description:
      'say how the daemon on this host is: addresses, connections with their rates, and everything that was dropped',
  },
  transfers: {
    usage: '[options]',
    description: 'list the transfers of the daemon on this host, in both directions',
  },
  cancel: {
    usage: '[options] ID…',
    description: 'cancel transfers: they end at both ends, and what has arrived is removed',
  },
  stop: {
    usage: '[options]',
    description:
      'stop the daemon on this host, and wait until it is gone; transfers are interrupted, and can be resumed',
  },
  perf: {
    usage: 'bw|lat [options] HOST',
    description:
      'measure bandwidth or latency to a host that runs a daemon, by way of the daemon on this one',
  },
  run: { usage: '[options] SCENARIO', description: 'run a scenario file and report what happened' },
  lab: {
    usage: 'up|down|status|exec|list …',
    description: 'a network of namespaces and veth pairs around the software switch, for any program',
  },
  doctor: {
    usage: '[options]',
    description: 'say what this machine allows, what is missing, and how to mend it',
  },
  demo: {
    usage: '[options] [FILE]',
    description:
      'send a real file across an emulated network while another host sends too, and show what happens',
  },
  dump: {
    usage: '[options] CAPTURE|-',
    description: 'print the packets of a capture file, or of standard input, and verify their ICRCs',
  },
} as const

export type CommandName = keyof typeof COMMANDS

/** The command as the list has it, without options and action. */
export function commandOf(name: CommandName): Command {
  const { usage, description } = COMMANDS[name]
  return new Command(name).usage(usage).description(description)
}
