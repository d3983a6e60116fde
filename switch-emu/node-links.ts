/** The links of a scenario as one of their nodes sees them. */
import { assert } from '../lib/errors.js'
import type { LinkEnd, Scenario } from '../lib/scenario/model/scenario.js'
import type { Nanos } from '../lib/time/nanos.js'

/** A link as one of its nodes sees it: its own port, and the node at the other end. */
export interface NodeLink {
  port: number
  peer: LinkEnd
  rateBps: number
  delayNs: Nanos
}

/** The links of a node, by port. */
export function linksOf(scenario: Pick<Scenario, 'links'>, node: string): NodeLink[] {
  const found: NodeLink[] = []
  for (const { a, b, rateBps, delayNs } of scenario.links) {
    if (a.node === node) found.push({ port: a.port, peer: b, rateBps, delayNs })
    if (b.node === node) found.push({ port: b.port, peer: a, rateBps, delayNs })
  }
  return found.sort((x, y) => x.port - y.port)
}

/** The links of a switch, whose port numbers have no gaps. */
export function portLinks(scenario: Scenario, name: string): NodeLink[] {
  const links = linksOf(scenario, name)
  for (const [index, { port }] of links.entries()) {
    assert(port === index, `${name}: ports are not numbered from 0 without gaps`)
  }
  return links
}
