import type { LinkSettings } from '../../lib/sim/link-options.js'

/**
 * What is set of one direction of a link: for good, and for a time by several owners. A setting that holds for a time covers
 * those before it, and uncovers them when it ends.
 */
export class SettingsStack {
  #base: LinkSettings = {}
  /** In the order in which they began. */
  #temporary: { owner: number; settings: LinkSettings }[] = []
  #effective: LinkSettings = {}

  effective(): LinkSettings {
    return this.#effective
  }

  set(settings: LinkSettings): void {
    this.#base = over(this.#base, settings)
    this.#merge()
  }

  begin(owner: number, settings: LinkSettings): void {
    this.#temporary.push({ owner, settings })
    this.#merge()
  }

  end(owner: number): void {
    this.#temporary = this.#temporary.filter(one => one.owner !== owner)
    this.#merge()
  }

  clear(): void {
    this.#base = {}
    this.#temporary = []
    this.#merge()
  }

  #merge(): void {
    this.#effective = this.#temporary.reduce((below, { settings }) => over(below, settings), this.#base)
  }
}

/** A share that is set brings its own manner: bursts and holding back that belonged to another one are gone. */
function over(below: LinkSettings, settings: LinkSettings): LinkSettings {
  const rest = { ...below }
  if (settings.loss !== undefined) {
    delete rest.burst
    delete rest.burstLoss
  }
  if (settings.reorder !== undefined) delete rest.reorderByNs
  return { ...rest, ...settings }
}
