import type { PathAttributes } from '../wire/bgp/attributes.js'

/** A route as a neighbour has sent it, or of this speaker itself. */
export interface BgpRoute {
  readonly attributes: PathAttributes
  /** Index of the neighbour; -1: of this speaker itself. */
  readonly from: number
  /** BGP identifier of who sent it. */
  readonly identifier: number
  /** True: it came from a client of this reflector (RFC 4456). */
  readonly fromClient: boolean
}

/**
 * Which of two routes to one prefix is better: negative for `a`. The decision process of RFC 4271, section 9.1.2.2, as far as one
 * autonomous system needs it, with the rules of RFC 4456, section 9.
 */
export function compareRoutes(a: BgpRoute, b: BgpRoute): number {
  const [x, y] = [a.attributes, b.attributes]
  return (
    // One's own first.
    Number(a.from >= 0) - Number(b.from >= 0) ||
    y.localPref - x.localPref ||
    x.asPath.length - y.asPath.length ||
    x.origin - y.origin ||
    (x.asPath[0] === y.asPath[0] ? x.med - y.med : 0) ||
    (x.originatorId || a.identifier) - (y.originatorId || b.identifier) ||
    x.clusterList.length - y.clusterList.length ||
    a.from - b.from
  )
}
