/** Names for `--io`: what a command line needs to know of ports, without loading one. */
export const IO_NAMES = ['auto', 'batch', 'dgram', 'raw', 'packet'] as const
