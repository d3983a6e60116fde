import './read-room.test.js'
