/**
 * Packets that a flow may send in one turn, as far as its window and pacing allow: a port hands consecutive packets
 * of one flow to the kernel as one. Where every packet has its own time a turn is one packet.
 */
export const TURN_PACKETS = 8
