import { readdirSync } from 'node:fs'
import { DELIVERED_NAME } from '../../lib/transfer/protocol/names.js'

/** Names in an inbox, without its own list of deliveries. */
export function filesIn(inbox: string): string[] {
  return readdirSync(inbox).filter(name => name !== DELIVERED_NAME)
}
