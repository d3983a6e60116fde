import { Command } from 'commander'
import { runKeeper } from '../../switch-emu/lab/keeper.js'
import { probePacketPort } from '../../switch-emu/lab/probe.js'
import { runOverlaySwitchProcess } from '../../switch-emu/overlay/switch-process.js'
import { runVethSwitchProcess } from '../../switch-emu/veth/veth-process.js'

/** `weir internal …`: processes that other commands start. Not for people. */
export function internalCommand(): Command {
  return new Command('internal')
    .description('processes that other commands start')
    .addCommand(switchCommand('switch', 'the switches of an overlay lab', runOverlaySwitchProcess))
    .addCommand(switchCommand('veth-switch', 'the switches of a veth lab', runVethSwitchProcess))
    .addCommand(new Command('lab-keeper').description('holds the namespaces of a lab').action(runKeeper))
    .addCommand(new Command('probe-packet').description('tries a packet port').action(probePacketPort))
}

function switchCommand(name: string, what: string, run: (folder: string) => Promise<void>): Command {
  return new Command(name)
    .description(what)
    .argument('<folder>', 'the lab’s; removed in the end')
    .action((folder: string) => run(folder))
}
