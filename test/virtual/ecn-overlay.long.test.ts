/** Variants with other controllers. */
import './ecn-overlay.test.js'
