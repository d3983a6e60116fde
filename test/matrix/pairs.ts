/** Pairs of values: each is refused with the reason, or runs with all checkers on and shows the effect of both values. */
import { WeirError } from '../../lib/errors.js'
import { CHOICES, type Choice } from './choices.js'
import { checkOptions } from './door.js'
import { TIMELY } from './effects.js'
import { NETWORKS, type NetworkName } from './networks.js'
import { type MatrixConfig, type NetworkOutcome, runNetwork } from './run-network.js'

function isTimely({ option }: Choice): boolean {
  return TIMELY.some(({ options }) => options.test(option))
}

/** A pair that both values cannot be written for: of two controllers, or of one option. */
export function excludeEachOther(one: Choice, other: Choice): boolean {
  if (one.option === other.option) return true
  // Whoever names an option's controller says nothing new.
  if (one.controller === other.controller && (one.option === 'cc' || other.option === 'cc')) {
    return one.controller !== undefined
  }
  return one.controller !== undefined && other.controller !== undefined && one.controller !== other.controller
}

export function allPairs(): [Choice, Choice][] {
  const choices = CHOICES.filter(({ handedOn }) => handedOn !== true)
  return choices.flatMap((one, i) =>
    choices
      .slice(i + 1)
      .filter(other => !excludeEachOther(one, other))
      .map((other): [Choice, Choice] => [one, other]),
  )
}

export interface Verdict {
  /** What is wrong, empty: nothing. */
  findings: string[]
  /** The reason, where the pair is refused. */
  refused: string | null
  runs: number
}

/** Runs by what they were made of: most are asked for by many pairs. */
type Known = Map<string, NetworkOutcome | string>

export class Judge {
  readonly #seed: number
  readonly #known: Known = new Map()
  readonly #best = new Map<Choice, NetworkName>()
  runs = 0

  constructor(seed: number) {
    this.#seed = seed
  }

  /** One value alone: it is never refused, and has its effect. */
  alone(choice: Choice): Verdict {
    return this.#verdict([choice])
  }

  pair(one: Choice, other: Choice): Verdict {
    return this.#verdict([one, other])
  }

  #verdict(choices: readonly Choice[]): Verdict {
    const before = this.runs
    const findings = new Set<string>()
    for (const choice of choices) {
      const others = choices.filter(other => other !== choice)
      const refused = this.#effect(choice, others, findings)
      if (refused !== null) return { findings: [...findings], refused, runs: this.runs - before }
    }
    return { findings: [...findings], refused: null, runs: this.runs - before }
  }

  /** Looks for the effect of `choice` beside the others. Returns why that is refused, or null. */
  #effect(choice: Choice, others: readonly Choice[], findings: Set<string>): string | null {
    const needs = [choice, ...others].map(({ needs = {} }) => needs)
    const without = merged([...needs, ...others.map(({ patch }) => patch)])
    const given = merged([without, choice.patch, ...others.map(({ patch }) => patch)])
    const networks = this.#networksOf(choice, others)
    for (const network of networks) {
      const found = this.#outcome(network, given)
      if (typeof found === 'string') return found
      for (const finding of found.findings) findings.add(`${network}: ${finding}`)
      const absent = this.#outcome(network, without, true)
      // What it is compared with is refused: then the value is what makes it work.
      if (typeof absent === 'string') return null
      if (choice.seen(found.figures, absent.figures)) {
        this.#best.set(choice, network)
        return null
      }
    }
    if (others.length > 0 && isTimely(choice)) return null
    findings.add(`${choice.name} has no effect (${networks.join(', ')})`)
    return null
  }

  /** The network that showed its effect last comes first. */
  #networksOf(choice: Choice, others: readonly Choice[]): readonly NetworkName[] {
    const { networks = ['shared'] } = choice
    const best = this.#best.get(choice)
    if (others.length > 0 && isTimely(choice)) return [best ?? networks[0]!]
    return best === undefined ? networks : [best, ...networks.filter(network => network !== best)]
  }

  #outcome(network: NetworkName, config: MatrixConfig, keep = false): NetworkOutcome | string {
    const key = `${network} ${JSON.stringify(config)}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    this.runs++
    let outcome: NetworkOutcome | string
    try {
      checkOptions(config)
      outcome = runNetwork({ plan: NETWORKS[network], config, seed: this.#seed })
    } catch (error) {
      if (!(error instanceof WeirError) || error.code !== 'WEIR_BAD_ARGUMENT') throw error
      outcome = error.message
    }
    if (keep || typeof outcome === 'string') this.#known.set(key, outcome)
    return outcome
  }
}

/** The later ones override the earlier ones. */
function merged(configs: readonly MatrixConfig[]): MatrixConfig {
  let all: MatrixConfig = {}
  for (const config of configs) {
    const { telemetry, paths, cc } = config
    const isOther = cc !== undefined && all.cc !== undefined && cc.name !== all.cc.name
    all = {
      ...all,
      ...config,
      ...((telemetry || all.telemetry) && { telemetry: { ...all.telemetry, ...telemetry } }),
      ...((paths || all.paths) && { paths: { ...all.paths, ...paths } }),
      ...((cc || all.cc) && {
        cc: {
          name: (cc ?? all.cc)!.name,
          options: isOther ? cc.options : { ...all.cc?.options, ...cc?.options },
        },
      }),
    }
  }
  return all
}
