import { InofEvent, type InofNotice } from '../wire/weir/inof-tlv.js'

/** Links that are remembered, at most. */
const LINKS_MAX = 4096

/** What hears of failed links: a NIC whose flows leave them. */
interface FailoverEnd {
  /** A link between switches has failed. */
  linkFailed(now: number): void
  /** All links that had failed are up again. */
  linksMended(): void
}

/** Which links a host's switch has said to have failed. */
export class FailedLinks {
  readonly #links = new Set<string>()
  readonly #end: FailoverEnd

  constructor(end: FailoverEnd) {
    this.#end = end
  }

  /** A notice about a link: `address` is its switch, `zone` the port. */
  onNotice(now: number, { event, address, zone }: InofNotice): void {
    const link = `${address}:${zone}`
    if (event === InofEvent.LINK_DOWN) {
      if (this.#links.size < LINKS_MAX) this.#links.add(link)
      this.#end.linkFailed(now)
    } else if (this.#links.delete(link) && this.#links.size === 0) this.#end.linksMended()
  }
}
