import './read-telemetry.test.js'
