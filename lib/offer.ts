/** Names that a message offers in place of one that nothing knows. */

/**
 * Formats the choices for a message: `a, b, c`, at most sixteen. Appends `; did you mean 'b'?` when one is
 * similar to `text`.
 */
export function offer(text: string, choices: readonly string[]): string {
  const shown = choices.slice(0, 16).join(', ')
  const more = choices.length > 16 ? ` and ${choices.length - 16} more` : ''
  const near = nearest(text, choices)
  return `${shown}${more}${near === undefined ? '' : `; did you mean '${near}'?`}`
}

/** The choice that `text` was probably meant to be, or undefined when none is near. */
function nearest(text: string, choices: Iterable<string>): string | undefined {
  const wanted = text.toLowerCase()
  let best: string | undefined
  let bestDistance = Math.max(1, Math.floor(text.length / 3)) + 1
  for (const choice of choices) {
    const distance = editDistance(wanted, choice.toLowerCase())
    if (distance < bestDistance) {
      bestDistance = distance
      best = choice
    }
  }
  return best
}

/** Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let best = Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, before[j - 2]! + 1)
      }
      row.push(best)
    }
    before = previous
    previous = row
  }
  return previous[b.length]!
}
