/**
 * CRC-32 by a C library of the system, which koffi calls. Such a call takes less time than one of a native package, and needs no view of
 * the bytes: their address is enough. HACKING.md, "V8", has the figures. The libraries are optional, as koffi is.
 */
import { type Koffi, loadKoffi } from '../../koffi.js'

export interface Crc32ByAddress {
  readonly library: string
  /** Returns the address of the first byte of a view. */
  addressOf(view: Uint8Array): number
  /** The CRC, and that of what came before, as signed numbers, for which V8 allocates no object. */
  crc32(previous: number, address: number, bytes: number): number
}

/** Where Linux's distributions have the libraries, and the functions with zlib's meaning. */
const LIBRARIES = [
  { library: 'libdeflate.so.0', name: 'libdeflate_crc32' },
  { library: 'libisal.so.2', name: 'crc32_gzip_refl' },
]

const PARAMETERS = ['int32_t', 'uintptr_t', 'size_t']

/** The check value that catalogues of CRCs have for CRC-32. */
const CHECK = { bytes: new TextEncoder().encode('123456789'), crc32: 0xcbf4_3926 | 0 }

/** Null where none of the libraries can be called. */
export function loadCrc32ByAddress(): Crc32ByAddress | null {
  const koffi = loadKoffi()
  if (koffi === null) return null
  for (const { library, name } of LIBRARIES) {
    const loaded = tryLoad(koffi, library, name)
    if (loaded !== null) return loaded
  }
  return null
}

function tryLoad(koffi: Koffi, library: string, name: string): Crc32ByAddress | null {
  try {
    const crc32 = koffi.load(library).func(name, 'int32_t', PARAMETERS) as Crc32ByAddress['crc32']
    const addressOf = (view: Uint8Array) => Number(koffi.address(view))
    const found = crc32(0, addressOf(CHECK.bytes), CHECK.bytes.length)
    return found === CHECK.crc32 ? { library, addressOf, crc32 } : null
  } catch {
    return null
  }
}
