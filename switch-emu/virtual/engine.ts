/**
 * What runs a scenario file in virtual time: its reader and the run. The program loads both as one file (`bin/bundle.ts`), so that what
 * both need is in memory once.
 */
export { loadScenario, parseScenario } from '../../lib/scenario/read/load-scenario.js'
export { tuneGarbageCollection } from './tune-gc.js'
export { VirtualRun } from './virtual-run.js'
