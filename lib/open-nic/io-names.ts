/** Names for `--io`. This file loads no port, so a command line can check names quickly. */
export const IO_NAMES = ['auto', 'batch', 'dgram', 'raw', 'packet'] as const
