/**
 * Completion of the command line by a shell: commands, options, and values that are one of a few. Hosts, paths and other values are left to
 * the shell.
 */
import type { Command, Option } from 'commander'
import { rowOf } from './value-options.js'

/** A command or one of its parts: `weir`, `weir perf`, `weir perf bw`. */
interface Node {
  path: string
  about: string
  /** Words that may follow at once. */
  parts: readonly Node[]
  options: readonly Known[]
  /** Values of the first argument, where there are few. */
  values: readonly string[]
}

interface Known {
  long: string
  short: string | undefined
  about: string
  takesValue: boolean
  values: readonly string[]
}

export function completionScript(shell: 'bash' | 'zsh' | 'fish', program: Command): string {
  const root = nodeOf(program, '')
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](allOf(root))
}

function nodeOf(command: Command, above: string): Node {
  const path = `${above} ${command.name()}`.trim()
  const visible = command.options.filter(({ hidden }) => !hidden).map(knownOf)
  const help = {
    long: '--help',
    short: '-h',
    about: 'display help for command',
    takesValue: false,
    values: [],
  }
  return {
    path,
    about: firstSentence(command.description()),
    parts: command.commands.filter(part => part.name() !== 'internal').map(part => nodeOf(part, path)),
    options: [...visible, help],
    values: command.registeredArguments[0]?.argChoices ?? [],
  }
}

function knownOf(option: Option): Known {
  const row = rowOf(option)
  const choices = row?.kind === 'choice' ? row.choices.map(String) : (option.argChoices ?? [])
  return {
    long: option.long!,
    short: option.short,
    about: firstSentence(option.description),
    takesValue: option.required || option.optional,
    values: choices,
  }
}

function firstSentence(text: string): string {
  return text.split(/[;(]/, 1)[0]!.trim()
}

function allOf(node: Node): Node[] {
  return [node, ...node.parts.flatMap(allOf)]
}

/** What may follow each part of a command line, for shells whose scripts are much alike. */
function tables(nodes: readonly Node[]): {
  steps: string[]
  words: string[]
  values: string[]
  free: string[]
} {
  const withOptions = nodes.flatMap(node => node.options.map(option => ({ node, option })))
  const taking = withOptions.filter(({ option }) => option.takesValue)
  const pattern = ({ node, option }: (typeof taking)[number]) =>
    [option.long, option.short].flatMap(name => (name ? [`'${node.path} ${name}'`] : [])).join('|')
  return {
    steps: nodes.slice(1).map(({ path }) => `'${path}'`),
    words: nodes.map(
      ({ path, parts, options, values }) =>
        `    '${path}') words='${[...parts.map(part => part.path.split(' ').at(-1)), ...values].join(' ')}' options='${options.map(({ long }) => long).join(' ')}' ;;`,
    ),
    values: taking
      .filter(({ option }) => option.values.length > 0)
      .map(each => `    ${pattern(each)}) values='${each.option.values.join(' ')}' ;;`),
    free: taking.filter(({ option }) => option.values.length === 0).map(pattern),
  }
}

/** The body that bash and zsh share: both have `case`, and arrays are only read by what surrounds it. */
function decisions(nodes: readonly Node[]): string {
  const { words, values, free } = tables(nodes)
  return `  case "$path $previous" in
${values.join('\n')}
    ${free.join('|')}) free=1 ;;
  esac
  case "$path" in
${words.join('\n')}
  esac`
}

function bashScript(nodes: readonly Node[]): string {
  return `# Completion of weir for bash. To load it: source <(weir completion bash)
_weir() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}" path=weir i
  local words='' options='' values='' free=''
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path \${COMP_WORDS[i]}" in
      ${tables(nodes).steps.join('|')}) path="$path \${COMP_WORDS[i]}" ;;
    esac
  done
${decisions(nodes)}
  COMPREPLY=()
  if [[ -n $values ]]; then words=$values
  elif [[ -n $free ]]; then return
  elif [[ $current == -* ]]; then words=$options
  fi
  while IFS= read -r i; do COMPREPLY+=("$i"); done < <(compgen -W "$words" -- "$current")
}
complete -o bashdefault -o default -F _weir weir
`
}

function zshScript(nodes: readonly Node[]): string {
  return `#compdef weir
# Completion of weir for zsh. To load it: source <(weir completion zsh), after compinit
_weir() {
  local current="\${words[CURRENT]}" previous="\${words[CURRENT-1]}" path=weir i
  local -a given=("\${words[@]}")
  local words='' options='' values='' free=''
  for ((i = 2; i < CURRENT; i++)); do
    case "$path \${given[i]}" in
      ${tables(nodes).steps.join('|')}) path="$path \${given[i]}" ;;
    esac
  done
${decisions(nodes)}
  if [[ -n $values ]]; then compadd -- \${=values}
  elif [[ -n $free ]]; then _files
  elif [[ $current == -* ]]; then compadd -- \${=options}
  elif [[ -n $words ]]; then compadd -- \${=words}
  else _alternative 'files:file:_files' 'hosts:host:_hosts'
  fi
}
if [[ \${funcstack[1]} == _weir ]]; then _weir "$@"; else compdef _weir weir; fi
`
}

function fishScript(nodes: readonly Node[]): string {
  const lines = nodes.flatMap(node => [
    ...node.parts.map(part => {
      const word = part.path.split(' ').at(-1)!
      return `complete -c weir -n '${isAt(node)}' -f -a ${word} -d ${fishQuoted(part.about)}`
    }),
    ...(node.values.length > 0
      ? [`complete -c weir -n '${isAt(node)}' -f -a '${node.values.join(' ')}'`]
      : []),
    ...node.options.map(option => optionInFish(node, option)),
  ])
  return `# Completion of weir for fish. To load it: weir completion fish | source
function __weir_at
    set -l path weir
    for word in (commandline -opc)[2..-1]
        switch "$path $word"
            case ${tables(nodes).steps.join(' ')}
                set path "$path $word"
        end
    end
    test "$path" = "$argv"
end
${lines.join('\n')}
`
}

/** The condition that a command line is at a command. A file may have the name of another one. */
function isAt({ path }: Node): string {
  return `__weir_at ${path}`
}

function optionInFish(node: Node, { long, short, about, takesValue, values }: Known): string {
  const name = `${short === undefined ? '' : `-s ${short.slice(1)} `}-l ${long.slice(2)}`
  const argument = values.length > 0 ? ` -x -a '${values.join(' ')}'` : takesValue ? ' -r' : ''
  return `complete -c weir -n '${isAt(node)}' ${name}${argument} -d ${fishQuoted(about)}`
}

function fishQuoted(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`
}
