import { Command } from 'commander'
import { runOverlaySwitchProcess } from '../../switch-emu/overlay/switch-process.js'

/** `weir internal …`: processes that other commands start. Not for people. */
export function internalCommand(): Command {
  return new Command('internal').description('processes that other commands start').addCommand(
    new Command('switch')
      .description('the switches of an overlay lab')
      .argument('<folder>', 'the lab’s; removed in the end')
      .action((folder: string) => runOverlaySwitchProcess(folder)),
  )
}
