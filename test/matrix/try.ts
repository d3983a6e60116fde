import { CHOICES } from './choices.js'
import { allPairs, Judge } from './pairs.js'

const judge = new Judge(1)
const [what = 'alone', filter = ''] = process.argv.slice(2)
let refused = 0,
  wrong = 0,
  n = 0
const began = performance.now()
if (what === 'alone')
  for (const choice of CHOICES) {
    if (!choice.name.includes(filter)) continue
    n++
    const v = judge.alone(choice)
    if (v.refused) console.log(choice.name, 'REFUSED', v.refused)
    for (const f of v.findings) console.log(choice.name, '::', f)
  }
else {
  const [of, mod] = what.split('/').map(Number)
  allPairs().forEach(([a, b], i) => {
    if (i % mod! !== of || !`${a.name} ${b.name}`.includes(filter)) return
    n++
    const v = judge.pair(a, b)
    if (v.refused) {
      refused++
      if (process.env.REFUSED) console.log(a.name, '+', b.name, 'REFUSED', v.refused)
    }
    if (v.findings.length) wrong++
    for (const f of v.findings) console.log(a.name, '+', b.name, '::', f)
  })
}
console.log({
  choices: CHOICES.length,
  pairs: allPairs().length,
  n,
  refused,
  wrong,
  runs: judge.runs,
  s: (performance.now() - began) / 1000,
})
