import { testInboxes } from './inboxes.js'

testInboxes(false)
