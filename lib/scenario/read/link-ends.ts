/** Links as scenario files and commands name them: `s1--s2` for both ways, `s1:s2` for the way from s1 to s2. */
import { WeirError } from '../../errors.js'
import { offer } from '../../offer.js'
import { expandNames } from '../model/names.js'
import type { DocumentPath, Problems } from '../model/problems.js'
import type { LinkEnd, Scenario } from '../model/scenario.js'
import { type PathHop, Topology } from '../model/topology.js'

const FORM = /^(.+?)(--|:)(.+?)(#\d+)?$/

/** The directions that a text names. */
interface NamedLinks {
  /** The ends from which they lead away. */
  ends: LinkEnd[]
  /** Whether both directions of each link are named. */
  bothWays: boolean
}

/** Returns the directions that a text names, or null after it has reported what is wrong. */
export function resolveLinkEnds(
  problems: Pick<Problems, 'at'>,
  path: DocumentPath,
  text: string,
  topology: Topology,
  nodeNames: readonly string[],
): NamedLinks | null {
  const match = FORM.exec(text)
  if (match === null) {
    problems.at(path, `a link is written as s1--s2, or s1:s2 for one direction, not '${text}'`)
    return null
  }
  const [, left = '', joint = '', right = '', copy] = match
  const from = namesOf(problems, path, left, nodeNames)
  const to = namesOf(problems, path, right, nodeNames)
  if (from === null || to === null) return null
  const found: PathHop[] = []
  for (const a of from) {
    for (const b of to) {
      const hops = linksBetween(problems, path, topology, a, b, copy)
      if (hops === null) return null
      found.push(...hops)
    }
  }
  const bothWays = joint === '--'
  const ends = found.flatMap(({ node, port, peer, peerPort }) => [
    { node, port },
    ...(bothWays ? [{ node: peer, port: peerPort }] : []),
  ])
  return { ends, bothWays }
}

/** Returns the same for the argument of a command. Throws WEIR_BAD_ARGUMENT. */
export function linkEndsOf(
  scenario: Pick<Scenario, 'hosts' | 'switches' | 'links'>,
  text: string,
): NamedLinks {
  const found: string[] = []
  const problems = { at: (_path: DocumentPath, message: string) => void found.push(message) }
  const names = [...scenario.hosts, ...scenario.switches].map(({ name }) => name)
  const links = resolveLinkEnds(problems, [], text, new Topology(scenario), names)
  if (links === null) throw new WeirError('WEIR_BAD_ARGUMENT', found.join('; '))
  return links
}

function namesOf(
  problems: Pick<Problems, 'at'>,
  path: DocumentPath,
  text: string,
  known: readonly string[],
): string[] | null {
  const names = expandNames(text)
  if ('wrong' in names) {
    problems.at(path, names.wrong)
    return null
  }
  const unknown = names.find(name => !known.includes(name))
  if (unknown === undefined) return names
  problems.at(path, `no host or switch is called '${unknown}'; there are ${offer(unknown, known)}`)
  return null
}

function linksBetween(
  problems: Pick<Problems, 'at'>,
  path: DocumentPath,
  topology: Topology,
  a: string,
  b: string,
  copy: string | undefined,
): PathHop[] | null {
  const links = topology.ports(a).filter(hop => hop.peer === b)
  if (links.length === 0) {
    const peers = [...new Set(topology.ports(a).map(hop => hop.peer))]
    problems.at(path, `there is no link ${a}--${b}; the neighbours of ${a} are ${offer(b, peers)}`)
    return null
  }
  if (copy === undefined) return links
  const chosen = links[Number(copy.slice(1))]
  if (chosen !== undefined) return [chosen]
  const count = `${links.length} link${links.length === 1 ? '' : 's'}`
  problems.at(path, `${a} has ${count} to ${b}, counted from #0`)
  return null
}
