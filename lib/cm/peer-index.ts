import { IntMap } from '../int-map.js'

/** The connections with one peer, by the names that the peer gives them. */
export class PeerIndex<C> {
  /** Address and GUID of the peer, by which the table finds this index. */
  readonly name: string
  readonly byId = new IntMap<C>()
  readonly byQpn = new IntMap<C>()

  constructor(name: string) {
    this.name = name
  }

  get isEmpty(): boolean {
    return this.byId.size === 0 && this.byQpn.size === 0
  }
}
