/**
 * Pairs of values: each is refused with a reason, or runs with all checkers and shows the effect of both
 * values.
 */
import { WeirError } from '../../lib/errors.js'
import { CHOICES, type Choice } from './choices.js'
import { checkOptions } from './door.js'
import { TIMELY } from './effects.js'
import { NETWORKS, type NetworkName } from './networks.js'
import { type MatrixConfig, type NetworkOutcome, runNetwork } from './run-network.js'

function isTimely({ option }: Choice): boolean {
  return TIMELY.some(({ options }) => options.test(option))
}

/** True if a file cannot have both values: of two controllers, or of one option. */
function excludeEachOther(one: Choice, other: Choice): boolean {
  if (one.option === other.option) return true
  // Naming the option's own controller adds nothing.
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

interface Verdict {
  /** What is wrong. Empty: nothing. */
  findings: string[]
  /** The reason, where the pair is refused. */
  refused: string | null
  runs: number
}

/** The runs by which a value is judged: with it and without it. */
interface Compared {
  given: MatrixConfig
  without: MatrixConfig
  isPair: boolean
}

/** Runs by their settings. */
type Known = Map<string, NetworkOutcome | string>

export class Judge {
  readonly #seed: number
  /** Runs without a value, which many pairs need, and those of the current pair. */
  readonly #known: Known = new Map()
  readonly #ofPair: Known = new Map()
  readonly #best = new Map<Choice, NetworkName>()
  runs = 0

  constructor(seed: number) {
    this.#seed = seed
  }

  /** A value alone: it is never refused, and has its effect. */
  alone(choice: Choice): Verdict {
    return this.#verdict([choice])
  }

  pair(one: Choice, other: Choice): Verdict {
    return this.#verdict([one, other])
  }

  #verdict(choices: readonly Choice[]): Verdict {
    const before = this.runs
    const findings = new Set<string>()
    const needs = choices.map(({ needs = {} }) => needs)
    const given = merged([...needs, ...choices.map(({ patch }) => patch)])
    this.#ofPair.clear()
    for (const choice of choices) {
      const others = choices.filter(other => other !== choice)
      const without = merged([...needs, ...others.map(({ patch }) => patch)])
      const refused = this.#effect(choice, { given, without, isPair: others.length > 0 }, findings)
      if (refused !== null) return { findings: [...findings], refused, runs: this.runs - before }
    }
    return { findings: [...findings], refused: null, runs: this.runs - before }
  }

  /** Looks for the effect of `choice`. Returns why what is given is refused, or null. */
  #effect(choice: Choice, { given, without, isPair }: Compared, findings: Set<string>): string | null {
    // What the other value needs may say the same already.
    const isSame = JSON.stringify(given) === JSON.stringify(without)
    const isJudged = !(isPair && isTimely(choice)) && !isSame
    const networks = this.#networksOf(choice, isJudged)
    for (const network of networks) {
      const found = this.#outcome(network, given, this.#ofPair)
      if (typeof found === 'string') return found
      for (const finding of found.findings) findings.add(`${network}: ${finding}`)
      if (!isJudged) return null
      const absent = this.#outcome(network, without, this.#known)
      // The comparison is refused, so the value is what makes it work.
      if (typeof absent === 'string') return null
      if (choice.seen(found.figures, absent.figures)) {
        this.#best.set(choice, network)
        return null
      }
    }
    findings.add(`${choice.name} has no effect (${networks.join(', ')})`)
    return null
  }

  /** The network that showed its effect last comes first. */
  #networksOf(choice: Choice, isJudged: boolean): readonly NetworkName[] {
    const { networks = ['shared'] } = choice
    const best = this.#best.get(choice)
    // Where a link stays down, connections end after seconds. Probes of the other value may fill these with
    // events.
    if (!isJudged) return [best === undefined || best === 'broken' ? networks[0]! : best]
    return best === undefined ? networks : [best, ...networks.filter(network => network !== best)]
  }

  #outcome(network: NetworkName, config: MatrixConfig, known: Known): NetworkOutcome | string {
    const key = `${network} ${JSON.stringify(config)}`
    let outcome = known.get(key)
    if (outcome !== undefined) return outcome
    this.runs++
    try {
      checkOptions(config)
      outcome = runNetwork({ plan: NETWORKS[network], config, seed: this.#seed })
    } catch (error) {
      if (!(error instanceof WeirError) || error.code !== 'WEIR_BAD_ARGUMENT') throw error
      outcome = error.message
    }
    known.set(key, outcome)
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
