/**
 * Units of the compact INT format: a hop's 64 bits are a speed code (4), a time stamp (24), transmitted bytes
 * (20) and the queue length (16), as in the FNCC paper, section 4; the code fixes the three units.
 *
 * At 100 Gbit/s the stamp counts nanoseconds, transmitted bytes count in 512 B and the queue in 80 B. The
 * others are chosen so that
 * - the stamp wraps no sooner than 16 ms, and after over 0.5 s at 1 Gbit/s and below, where round trips are
 *   those of emulated and software networks; a stamp's unit stays under 1/25 of the time of a 1,000 B packet;
 * - transmitted bytes wrap later than the stamp does at line rate, so one limit rules both;
 * - the queue field reaches 1 MB at the slowest link and 40 MB at the fastest, and saturates beyond.
 *
 * Who compares two samples must know by its own clock that less than a wrap passed between them.
 *
 * | code | rate      | stamp  | wraps  | txBytes | wraps  | queue | up to   |
 * |------|-----------|--------|--------|---------|--------|-------|---------|
 * | 0    | 10 Mbit/s | 256 ns | 4.29 s | 8 B     | 6.71 s | 16 B  | 1.05 MB |
 * | 1    | 50 M      | 256 ns | 4.29 s | 32 B    | 5.37 s | 16 B  | 1.05 MB |
 * | 2    | 100 M     | 128 ns | 2.15 s | 32 B    | 2.68 s | 16 B  | 1.05 MB |
 * | 3    | 200 M     | 128 ns | 2.15 s | 64 B    | 2.68 s | 16 B  | 1.05 MB |
 * | 4    | 500 M     | 64 ns  | 1.07 s | 128 B   | 2.15 s | 32 B  | 2.10 MB |
 * | 5    | 1 G       | 32 ns  | 537 ms | 128 B   | 1.07 s | 32 B  | 2.10 MB |
 * | 6    | 2.5 G     | 16 ns  | 268 ms | 128 B   | 429 ms | 32 B  | 2.10 MB |
 * | 7    | 5 G       | 8 ns   | 134 ms | 128 B   | 215 ms | 64 B  | 4.19 MB |
 * | 8    | 10 G      | 4 ns   | 67 ms  | 128 B   | 107 ms | 64 B  | 4.19 MB |
 * | 9    | 25 G      | 4 ns   | 67 ms  | 256 B   | 86 ms  | 64 B  | 4.19 MB |
 * | 10   | 40 G      | 2 ns   | 34 ms  | 256 B   | 54 ms  | 64 B  | 4.19 MB |
 * | 11   | 50 G      | 2 ns   | 34 ms  | 256 B   | 43 ms  | 64 B  | 4.19 MB |
 * | 12   | 100 G     | 1 ns   | 17 ms  | 512 B   | 43 ms  | 80 B  | 5.24 MB |
 * | 13   | 200 G     | 1 ns   | 17 ms  | 1024 B  | 43 ms  | 160 B | 10.5 MB |
 * | 14   | 400 G     | 1 ns   | 17 ms  | 2048 B  | 43 ms  | 320 B | 21.0 MB |
 * | 15   | 800 G     | 1 ns   | 17 ms  | 4096 B  | 43 ms  | 640 B | 41.9 MB |
 */
export const RATE_BPS = Float64Array.from([
  10e6, 50e6, 100e6, 200e6, 500e6, 1e9, 2.5e9, 5e9, 10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9, 800e9,
])
export const TS_UNIT_NS = Float64Array.from([256, 256, 128, 128, 64, 32, 16, 8, 4, 4, 2, 2, 1, 1, 1, 1])
export const TX_UNIT_BYTES = Float64Array.from([
  8, 32, 32, 64, 128, 128, 128, 128, 128, 256, 256, 256, 512, 1024, 2048, 4096,
])
export const QLEN_UNIT_BYTES = Float64Array.from([
  16, 16, 16, 16, 32, 32, 32, 64, 64, 64, 64, 64, 80, 160, 320, 640,
])

export const TS_STEPS = 0x100_0000
export const TX_STEPS = 0x10_0000
export const QLEN_MAX = 0xffff

/**
 * Returns the code of the nearest speed that is not above `rateBps`. So a sender may underestimate a link,
 * but never overestimate it. Below 10 Mbit/s the code is 0.
 */
export function rateCode(rateBps: number): number {
  let code = 15
  while (code > 0 && RATE_BPS[code]! > rateBps) code--
  return code
}

/** Returns the rate below which a link is that is reported as `rateBps`, one of RATE_BPS. */
export function rateBoundBps(rateBps: number): number {
  return RATE_BPS[rateCode(rateBps) + 1] ?? Number.POSITIVE_INFINITY
}
