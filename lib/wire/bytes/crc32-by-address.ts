/**
 * CRC-32 by a C library of the system, which koffi calls. Such a call takes less time than one of a native package, and needs no view of
 * the bytes: their address is enough. docs/measured/system-calls.md has the figures. The libraries are optional, as koffi is.
 */
import { type Koffi, loadKoffi } from '../../koffi.js'

export interface Crc32ByAddress {
  readonly library: string
  /** Returns the address of the first byte of a view. */
  addressOf(view: Uint8Array): number
  /** The CRC, and that of what came before, as signed numbers, for which V8 allocates no object. */
  crc32(previous: number, address: number, bytes: number): number
}

/** Where Linux's distributions have the libraries, and the functions with zlib's meaning, with the type that their lengths have. */
const LIBRARIES = [
  { library: 'libdeflate.so.0', name: 'libdeflate_crc32', length: 'size_t' },
  { library: 'libisal.so.2', name: 'crc32_gzip_refl', length: 'uint64_t' },
]

/** The check value that catalogues of CRCs have for CRC-32. That of the first five bytes is negative as a signed number. */
const CHECK = { bytes: new TextEncoder().encode('123456789'), firstBytes: 5, crc32: 0xcbf4_3926 | 0 }

/** Null where none of the libraries can be called. */
export function loadCrc32ByAddress(): Crc32ByAddress | null {
  const koffi = loadKoffi()
  if (koffi === null) return null
  for (const candidate of LIBRARIES) {
    const loaded = tryLoad(koffi, candidate)
    if (loaded !== null) return loaded
  }
  return null
}

function tryLoad(koffi: Koffi, { library, name, length }: (typeof LIBRARIES)[number]): Crc32ByAddress | null {
  try {
    const parameters = ['int32_t', 'uintptr_t', length]
    const crc32 = koffi.load(library).func(name, 'int32_t', parameters) as Crc32ByAddress['crc32']
    const addressOf = (view: Uint8Array) => Number(koffi.address(view))
    const { bytes, firstBytes } = CHECK
    const at = addressOf(bytes)
    const found = crc32(crc32(0, at, firstBytes), at + firstBytes, bytes.length - firstBytes)
    return found === CHECK.crc32 ? { library, addressOf, crc32 } : null
  } catch {
    return null
  }
}
