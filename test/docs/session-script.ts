/** The shell's part of a session. Names of its own begin with __. */
import type { Step } from './steps.js'

/** A daemon on a busy machine may take so long to say that it is ready; what else runs in the background may say nothing. */
const READY_SECONDS = 120
const SILENT_SECONDS = 2

/** The beginning of the script. The folder of the session is its argument. */
export const DRIVER = `set -e
__root=$1 __step= __host=
trap '__code=$?; [ -z "$__step" ] || echo "$__step $__code" >> "$__root/results"' EXIT
ip link set lo up
for __n in 1 2 3 4 5 6 7 8 9; do ip address add 10.0.0.$__n/32 dev lo; done

# STEP HOST: what follows is of this step, on this host.
__begin() {
  __out=$__root/$1.out
  if [ "$__host" != "$2" ]; then
    __host=$2
    export HOME=$__root/$2
    export XDG_RUNTIME_DIR=$HOME/.run TMPDIR=$HOME/.tmp
    cd "$HOME"
  fi
  __step=$1
}

# CODE: how the step has ended.
__end() {
  echo "$__step $1" >> "$__root/results"
  __step=
}

__bytes() { stat -c %s "$__out"; }

# PID BYTES SECONDS [LOG]: waits until a command in the background has printed something, or has ended well. Its
# standard error may go to LOG.
__await() {
  local until=$((SECONDS + $3))
  while [ "$(__bytes)" -le "$2" ] && [ ! -s "\${4:-}" ]; do
    if ! kill -0 "$1" 2> /dev/null; then wait "$1"; return; fi
    if [ $SECONDS -ge $until ]; then
      [ $3 -le ${SILENT_SECONDS} ] && return
      echo "in the background nothing was printed for $3 s"
      return 1
    fi
    sleep 0.05
  done
}
`

/** Returns the script for a step of the session. */
export function stepScript({ example: { marker } }: Step, index: number): string {
  const block = `. "$__root/${index}.sh"`
  const streams = '> "$__out" 2>&1 < /dev/null'
  const begin = `__begin ${index} ${marker.host}`
  if (marker.exitCode !== 0) {
    return `${begin}\nset +e\n(set -e; ${block}) ${streams}\n__code=$?\nset -e\n__end $__code`
  }
  if (marker.background) {
    return `${begin}\n: > "$__out"\n${block} ${streams} &\n__await $! 0 ${READY_SECONDS} >> "$__out"\n__end 0`
  }
  return `${begin}\n${block} ${streams}\n__end 0`
}

/** The step's commands. After each that runs in the background the shell waits for its first words. */
export function blockScript({ commands }: Step): string {
  const lines: string[] = []
  let start = 0
  for (const line of commands.split('\n')) {
    lines.push(line)
    if (/\\$/.test(line)) continue
    if (/(^|[^&])&\s*(#.*)?$/.test(line)) {
      const command = lines.splice(start)
      const seconds = /\bweir\s/.test(command.join(' ')) ? READY_SECONDS : SILENT_SECONDS
      const [, log = ''] = /2> *([\w./-]+)/.exec(command.join(' ')) ?? []
      const clear = log === '' ? '' : `rm -f ${log}; `
      lines.push(`${clear}__before=$(__bytes)`, ...command, `__await $! $__before ${seconds} ${log}`)
    }
    start = lines.length
  }
  return `${lines.join('\n')}\n`
}
