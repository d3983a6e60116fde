import { Command } from 'commander'

/**
 * `weir internal …`: processes that other commands start. They are not for users. Each loads only what it
 * needs.
 */
export function internalCommand(): Command {
  return new Command('internal')
    .description('processes that other commands start')
    .addCommand(
      switchCommand('switch', 'the switches of an overlay lab').action(async (folder: string) => {
        const { runOverlaySwitchProcess } = await import('../../switch-emu/overlay/switch-process.js')
        await runOverlaySwitchProcess(folder)
      }),
    )
    .addCommand(
      switchCommand('veth-switch', 'the switches of a veth lab').action(async (folder: string) => {
        const { runVethSwitchProcess } = await import('../../switch-emu/veth/veth-process.js')
        await runVethSwitchProcess(folder)
      }),
    )
    .addCommand(
      new Command('lab-keeper').description('holds the namespaces of a lab').action(async () => {
        const { runKeeper } = await import('../../switch-emu/lab/keeper.js')
        await runKeeper()
      }),
    )
    .addCommand(
      new Command('probe-packet').description('tries a packet port').action(async () => {
        const { probePacketPort } = await import('../../switch-emu/lab/probe.js')
        await probePacketPort()
      }),
    )
}

function switchCommand(name: string, what: string): Command {
  return new Command(name).description(what).argument('<folder>', 'the lab’s; removed in the end')
}
