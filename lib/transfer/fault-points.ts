/**
 * Named points of the transfer protocol at which a test ends this process as `kill -9` does (WEIR_FAULT_POINT, test/transfer/fault-points.test.ts).
 * Without the variable a point is one comparison, for each message or file and never for each packet.
 */

/** The messages of proto/transfer.proto. */
const MESSAGES = [
  'offer',
  'ready',
  'refuse',
  'credit',
  'commit',
  'done',
  'fail',
  'ping',
  'request',
  'filled',
  'again',
  'held',
  'tree',
  'entries',
  'wanted',
  'wish',
  'lost',
  'missing',
] as const

/** A file gets its name: its bytes are on disk before, and the peer hears of it after. What the source does not have is deleted. */
const STEPS = ['names file', 'named file', 'deletes', 'deleted'] as const

/** `sends`: a message is not on its way yet. `takes`: one has come, and nothing was done about it yet. */
export type FaultPoint = `${'sends' | 'takes'} ${(typeof MESSAGES)[number]}` | (typeof STEPS)[number]

export const FAULT_POINTS: readonly FaultPoint[] = [
  ...MESSAGES.flatMap((body): FaultPoint[] => [`sends ${body}`, `takes ${body}`]),
  ...STEPS,
]

/** `sends commit`; `say` names each point that is reached on standard error instead. */
const wanted = process.env.WEIR_FAULT_POINT ?? ''

/** A message that is sent or has come. */
export function messageFault(way: 'sends' | 'takes', body: string | undefined): void {
  if (wanted !== '') reach(`${way} ${body}`)
}

/** A step of a file. */
export function stepFault(step: (typeof STEPS)[number]): void {
  if (wanted !== '') reach(step)
}

function reach(point: string): void {
  if (wanted === 'say') process.stderr.write(`fault point: ${point}\n`)
  else if (wanted === point) process.kill(process.pid, 'SIGKILL')
}
