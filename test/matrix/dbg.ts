import { NETWORKS, type NetworkName } from './networks.js'
import { runNetwork } from './run-network.js'
const [net, json = '{}', ...keys] = process.argv.slice(2)
const nets = net === 'all' ? Object.keys(NETWORKS) : [net!]
for (const name of nets) {
  const run = () => runNetwork({ plan: NETWORKS[name as NetworkName], config: JSON.parse(json), seed: 1 })
  if (net === 'all') for (let i = 0; i < 5; i++) run()
  const c = process.cpuUsage()
  const out = run()
  const ms = process.cpuUsage(c).user / 1000
  console.log(name, ms, 'ms', out.findings)
  const f = out.figures as any
  console.log(JSON.stringify(keys.length ? Object.fromEntries(keys.map(k => [k, f[k]])) : f))
}
