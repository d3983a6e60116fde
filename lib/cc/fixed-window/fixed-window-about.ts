import type { About } from '../about.js'

export const FIXED_WINDOW_ABOUT: About = {
  is: 'a window that nothing moves, to compare with',
  source: null,
  switches: '',
  host: '',
  loss: 'none; with lossReaction a loss leaves lossBeta of the window, and a timeout one packet',
  plainNetworks: {
    works: false,
    how: 'it carries data, and drops what the path cannot hold; set window and rate',
  },
  foreignPeers: { works: true, how: 'as towards Weir hosts' },
}
