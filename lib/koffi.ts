/** koffi calls functions of C libraries. It is an optional package: where it is missing, its types are missing too. */
import { createRequire } from 'node:module'

/** The part of koffi that is used here. */
export interface Koffi {
  /** @param library null: the program itself, and what it has loaded */
  load(library: string | null): Library
  errno(): number
  address(view: Uint8Array): number | bigint
  view(pointer: number, bytes: number): ArrayBuffer
}

export interface Library {
  /** Takes a prototype in C, or name, result and parameters. Throws where there is no such function. */
  func(prototype: string): NativeCall
  func(name: string, result: string, parameters: string[]): NativeCall
}

type NativeCall = ((...args: unknown[]) => unknown) & { async: (...args: unknown[]) => void }

/** Null where it is not installed. */
export function loadKoffi(): Koffi | null {
  try {
    return createRequire(import.meta.url)('koffi')
  } catch {
    return null
  }
}
