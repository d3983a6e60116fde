/** hash-wasm has types for its main file alone. */
declare module 'hash-wasm/dist/xxhash64.umd.min.js' {
  import type { createXXHash64 } from 'hash-wasm'

  const exported: { createXXHash64: typeof createXXHash64 }
  export default exported
}
