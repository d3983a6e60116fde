/**
 * How many things a connection manager has to do: datagrams to be sent, connections with a deadline, questions that are not answered.
 * A NIC has to know before and after each packet, and there is seldom one.
 */
export class Duties {
  count = 0
}
