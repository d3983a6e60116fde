/** What programs may import from the package. */
export * from './client/daemon-client.js'
export { ERROR_CODES, type ErrorCode, WeirError } from './errors.js'
