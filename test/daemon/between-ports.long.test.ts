/** Every port with those that accept no runs, several at once. */
import { noRaw, testVeth } from './exchange.js'

const raw = noRaw ? [] : ['raw']

testVeth(['batch', 'batch --no-worker', 'dgram', ...raw], ['packet', ...raw])
