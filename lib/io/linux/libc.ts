/**
 * Linux's system calls, called directly from TypeScript by koffi. It is an optional package: everything that
 * does not load this file works without it. Pointers are plain numbers, exact up to 2^53. Addresses of user
 * space on 64-bit Linux have 47 bits, or 52 if a program asks for them.
 */
import { endianness } from 'node:os'
import { WeirError } from '../../errors.js'
import { type Koffi, type Library, loadKoffi } from '../../koffi.js'

/** An address in this process, or 0 for none. */
export type Pointer = number

/** The calls return -1 when they fail, and `errno` says why. A buffer may be a view over any memory. */
export interface Libc {
  socket(domain: number, type: number, protocol: number): number
  bind(fd: number, address: Uint8Array, bytes: number): number
  connect(fd: number, address: Uint8Array, bytes: number): number
  getsockname(fd: number, address: Uint8Array, bytes: Uint8Array): number
  setsockopt(fd: number, level: number, name: number, value: Uint8Array, bytes: number): number
  getsockopt(fd: number, level: number, name: number, value: Uint8Array, bytes: Uint8Array): number
  send(fd: number, bytes: Uint8Array, length: number, flags: number): number
  recv(fd: number, bytes: Uint8Array, length: number, flags: number): number
  sendmmsg(fd: number, headers: Pointer, count: number, flags: number): number
  recvmmsg(fd: number, headers: Pointer, count: number, flags: number, timeout: Pointer): number
  /** The same for one message: they return its bytes, and take a little less time. */
  sendmsg(fd: number, header: Pointer, flags: number): number
  recvmsg(fd: number, header: Pointer, flags: number): number
  ppoll(fds: Pointer, count: number, timeout: Pointer, signals: Pointer): number
  /** The same on one of libuv's threads. `done` gets the result, -1 for any error. */
  ppollAsync(fds: Pointer, count: number, timeout: Pointer, done: (ready: number) => void): void
  eventfd(initial: number, flags: number): number
  /** Adds to an eventfd's count. */
  eventfdWrite(fd: number, value: number): number
  /**
   * Reads an eventfd's count, 8 bytes, and sets it to 0. While it is 0, the call waits, or fails with
   * EFD_NONBLOCK.
   */
  eventfdRead(fd: number, count: Uint8Array): number
  prctl(option: number, value: number): number
  /** Lets other threads that wait for this core run first. */
  schedYield(): number
  /** Returns 2^64 - 1 on failure. `offset` is a multiple of the page size. */
  mmap(
    address: Pointer,
    bytes: number,
    protection: number,
    flags: number,
    fd: number,
    offset: number,
  ): Pointer
  munmap(address: Pointer, bytes: number): number
  /**
   * Copies bytes between memories that do not overlap. JavaScript's own copy of long ranges allocates an
   * object.
   */
  memcpy(to: Pointer, from: Pointer, bytes: number): void
  /** Writes a clock's time to `time`, a `struct timespec`. */
  clockGettime(clock: number, time: Pointer): number
  /** `thread` 0 is the calling thread. `parameter` is a `struct sched_param`. */
  schedSetscheduler(thread: number, policy: number, parameter: Uint8Array): number
  /** Moves the calling thread into a namespace. */
  setns(fd: number, type: number): number
  /**
   * Returns the index of the network interface of that name in the calling thread's namespace, 0 if there is
   * none.
   */
  ifNameToIndex(name: string): number
  /** Only for requests whose argument is a pointer. */
  ioctl(fd: number, request: number, argument: Uint8Array): number
  close(fd: number): number
  write(fd: number, bytes: Uint8Array, length: number): number
  /** Returns the new offset of the file. */
  lseek(fd: number, offset: number, whence: number): number
  /** @param path ends in a NUL */
  openat(folder: number, path: Uint8Array, flags: number, mode: number): number
  renameat2(fromFolder: number, from: Uint8Array, toFolder: number, to: Uint8Array, flags: number): number
  /** @param from and @param to end in a NUL */
  linkat(fromFolder: number, from: Uint8Array, toFolder: number, to: Uint8Array, flags: number): number
  /** @param into 256 bytes for a `struct statx` */
  statx(folder: number, path: Uint8Array, flags: number, mask: number, into: Uint8Array): number
  /** @param times two `struct timespec`, of access and of change */
  futimens(fd: number, times: Uint8Array): number
  /** The same on one of libuv's threads. `done` gets the result, -1 for any error. */
  futimensAsync(fd: number, times: Uint8Array, done: (result: number) => void): void
  /** On one of libuv's threads too. @param path ends in a NUL */
  utimensatAsync(
    folder: number,
    path: Uint8Array,
    times: Uint8Array,
    flags: number,
    done: (result: number) => void,
  ): void
  /** Why the last call failed, as a positive number (EAGAIN is 11). */
  errno(): number
  /**
   * Returns the address of the first byte of a view. The memory must stay referenced while the address is
   * used.
   */
  address(view: Uint8Array): Pointer
  /** Returns the memory at an address, which must stay mapped while the buffer is used. */
  memory(pointer: Pointer, bytes: number): ArrayBuffer
}

/** System calls for which older C libraries have no function. */
const NUMBERS = process.arch === 'x64' ? { renameat2: 316, statx: 332 } : { renameat2: 276, statx: 291 }

let loaded: Libc | WeirError | null = null

/** Throws WEIR_UNSUPPORTED, with the reason, where these calls cannot be made. */
export function loadLibc(): Libc {
  if (loaded === null) loaded = tryLoad()
  if (loaded instanceof WeirError) throw loaded
  return loaded
}

/** Returns why the calls cannot be made here, or null if they can. */
export function libcFault(): string | null {
  if (loaded === null) loaded = tryLoad()
  return loaded instanceof WeirError ? loaded.message : null
}

function tryLoad(): Libc | WeirError {
  if (process.platform !== 'linux') return unsupported(`need Linux; this is ${process.platform}`)
  if (endianness() !== 'LE' || !['x64', 'arm64', 'riscv64', 'loong64'].includes(process.arch)) {
    return unsupported(`need a 64-bit little-endian processor; this is ${process.arch}`)
  }
  const koffi = loadKoffi()
  if (koffi === null) {
    return unsupported('need the optional package koffi; install it with: npm install --include=optional')
  }
  for (const name of ['libc.so.6', `libc.musl-${process.arch === 'x64' ? 'x86_64' : 'aarch64'}.so.1`]) {
    try {
      return bindCalls(koffi, koffi.load(name))
    } catch {
      // Try the other C library.
    }
  }
  return unsupported('need glibc or musl, and find neither')
}

function bindCalls(koffi: Koffi, library: Library): Libc {
  const call = (prototype: string) => library.func(prototype) as (...args: unknown[]) => number
  const ppoll = library.func('int ppoll(uint64_t, uint64_t, uint64_t, uint64_t)')
  const renameat2 = call('int64_t syscall(int64_t, int64_t, void*, int64_t, void*, uint64_t)')
  const futimens = library.func('int futimens(int, void*)')
  const utimensat = library.func('int utimensat(int, void*, void*, int)')
  const statx = call('int64_t syscall(int64_t, int64_t, void*, int64_t, uint64_t, void*)')
  return {
    socket: call('int socket(int, int, int)'),
    bind: call('int bind(int, void*, uint32_t)'),
    connect: call('int connect(int, void*, uint32_t)'),
    getsockname: call('int getsockname(int, void*, void*)'),
    setsockopt: call('int setsockopt(int, int, int, void*, uint32_t)'),
    getsockopt: call('int getsockopt(int, int, int, void*, void*)'),
    send: call('int64_t send(int, void*, uint64_t, int)'),
    recv: call('int64_t recv(int, void*, uint64_t, int)'),
    sendmmsg: call('int sendmmsg(int, uint64_t, uint32_t, int)'),
    recvmmsg: call('int recvmmsg(int, uint64_t, uint32_t, int, uint64_t)'),
    sendmsg: call('int64_t sendmsg(int, uint64_t, int)'),
    recvmsg: call('int64_t recvmsg(int, uint64_t, int)'),
    ppoll: ppoll as Libc['ppoll'],
    ppollAsync: (fds, count, timeout, done) => ppoll.async(fds, count, timeout, 0, resultFor(done)),
    eventfd: call('int eventfd(uint32_t, int)'),
    eventfdWrite: call('int eventfd_write(int, uint64_t)'),
    eventfdRead: call('int eventfd_read(int, void*)'),
    schedYield: call('int sched_yield()'),
    prctl: call('int prctl(int, uint64_t)'),
    mmap: call('uint64_t mmap(uint64_t, uint64_t, int, int, int, int64_t)'),
    munmap: call('int munmap(uint64_t, uint64_t)'),
    memcpy: library.func('memcpy', 'void', ['uint64_t', 'uint64_t', 'uint64_t']) as Libc['memcpy'],
    clockGettime: call('int clock_gettime(int, uint64_t)'),
    schedSetscheduler: call('int sched_setscheduler(int, int, void*)'),
    setns: call('int setns(int, int)'),
    ifNameToIndex: call('uint32_t if_nametoindex(const char*)'),
    ioctl: call('int ioctl(int, uint64_t, void*)'),
    close: call('int close(int)'),
    write: call('int64_t write(int, void*, uint64_t)'),
    lseek: call('int64_t lseek(int, int64_t, int)'),
    openat: call('int openat(int, void*, int, uint32_t)'),
    renameat2: (from, name, to, newName, flags) =>
      renameat2(NUMBERS.renameat2, from, name, to, newName, flags),
    linkat: call('int linkat(int, void*, int, void*, int)'),
    statx: (folder, path, flags, mask, into) => statx(NUMBERS.statx, folder, path, flags, mask, into),
    futimens: futimens as Libc['futimens'],
    futimensAsync: (fd, times, done) => futimens.async(fd, times, resultFor(done)),
    utimensatAsync: (folder, path, times, flags, done) =>
      utimensat.async(folder, path, times, flags, resultFor(done)),
    errno: () => koffi.errno(),
    address: view => Number(koffi.address(view)),
    memory: (pointer, bytes) => koffi.view(pointer, bytes),
  }
}

/** What koffi calls when an asynchronous call has ended. */
function resultFor(done: (result: number) => void): (error: Error | null, result: number) => void {
  return (error, result) => done(error ? -1 : result)
}

function unsupported(why: string): WeirError {
  return new WeirError('WEIR_UNSUPPORTED', `direct system calls ${why}`)
}
