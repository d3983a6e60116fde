/** `weir lab set`: links of a lab that fail, lose frames or change while it is up. */
import { Command } from 'commander'
import { WeirError } from '../../lib/errors.js'
import { describeOption } from '../../lib/options/describe.js'
import { parseOptions } from '../../lib/options/parse-options.js'
import { LINK_OPTIONS, type LinkSettings } from '../../lib/sim/link-options.js'
import { findLab } from '../../switch-emu/lab/lab-state.js'
import { setLink } from '../../switch-emu/lab/lab-status.js'
import { printLinks } from './lab-display.js'

const RESET = 'reset'
/** Words that stand for a setting. */
const WORDS: Readonly<Record<string, string>> = { down: 'down=true', up: 'down=false' }

export function setCommand(): Command {
  return new Command('set')
    .usage('LAB LINK SETTING…')
    .description('change a link: it goes down, loses or damages frames, or gets another delay or rate')
    .argument('<lab>', 'file or name')
    .argument('<link>', 's1--s2 both ways (s1--s2#1 of parallel links), s1:s2 one way, h1..h4--s1 several')
    .argument('<setting...>', 'down, up, reset, or NAME=VALUE; what is not named stays')
    .addHelpText('after', `\n${help()}`)
    .action(async (lab: string, link: string, words: string[]) => {
      const change = { link, ...readSettings(words) }
      process.stdout.write(printLinks(await setLink(findLab(lab), change)))
    })
}

/** Throws WEIR_BAD_ARGUMENT. */
function readSettings(words: readonly string[]): { settings: LinkSettings; reset: boolean } {
  const unknown = words.find(word => !word.includes('=') && word !== RESET && WORDS[word] === undefined)
  if (unknown !== undefined) {
    const text = `"${unknown}" is no setting of a link: it is down, up, ${RESET}, or NAME=VALUE as in loss=1%`
    throw new WeirError('WEIR_BAD_ARGUMENT', text)
  }
  const texts = words.filter(word => word !== RESET).map(word => WORDS[word] ?? word)
  const names = texts.map(text => text.split('=')[0]!)
  const twice = names.find((name, i) => names.indexOf(name) < i)
  if (twice !== undefined) {
    const own = words.filter(word => (WORDS[word] ?? word).split('=')[0] === twice).join(' and ')
    throw new WeirError('WEIR_BAD_ARGUMENT', `a link: ${twice} is set twice, by ${own}: leave one out`)
  }
  return { settings: parseOptions('a link', LINK_OPTIONS, texts), reset: words.includes(RESET) }
}

function help(): string {
  const rows = LINK_OPTIONS.filter(({ kind }) => kind !== 'flag')
  return [
    'Settings:',
    '  down, up: frames on their way are lost, and ports at its ends drop what waits and what comes',
    `  ${RESET}: as the scenario says, before the other settings`,
    ...rows.map(option => `  ${describeOption(option, LINK_OPTIONS)}`),
    '',
  ].join('\n')
}
