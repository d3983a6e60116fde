import { testInboxes } from './inboxes.js'

testInboxes(true)
testInboxes(false)
