/** What ib_write_bw's client and server said: perftest 4.5 of Debian 12 in two guests, 10.99.0.2 and 10.99.0.1. */

export const CLIENT_KEYS =
  '0000:0001:000011:751686:00000212:00005593192be000:00:00:00:00:00:00:00:00:00:00:ff:ff:0a:63:00:02:00000000:\0'
export const SERVER_KEYS =
  '0000:0001:000011:f1192e:000002e9:000055f1ba76c000:00:00:00:00:00:00:00:00:00:00:ff:ff:0a:63:00:01:00000000:\0'
/** The client's with -R, of another run. */
export const CLIENT_KEYS_BY_MANAGER =
  '00000000000000010000001a00fcc98c00000be00000000000005651ff9ed00000000000000000000000ffff0a6300020000000000000001'

const VERSION = '362e3036000000000000000000000000'
const HEAD = [VERSION, '00001000', '00000040', '3500']
const hex = (text: string) => Buffer.from(text, 'latin1').toString('hex')

/** All that the client said by TCP, message by message. The server answered each before the next, except the last. */
export const CLIENT_SAID: readonly string[] = [
  ...HEAD,
  ...[CLIENT_KEYS, CLIENT_KEYS, CLIENT_KEYS, CLIENT_KEYS].map(hex),
  ...['0000000000001000', '0000000000000014', '3ffe6c2bcdf76ecc', '3ff7e31eb699f42c', '3f390c2b04c69757'],
  hex(CLIENT_KEYS),
  hex('done\0'),
]

/** All that the server answered. Its figures are what was in its memory. */
export const SERVER_SAID: readonly string[] = [
  ...HEAD,
  ...[SERVER_KEYS, SERVER_KEYS, SERVER_KEYS, SERVER_KEYS].map(hex),
  ...['00007ffd4b86ce24', '00007f22ac42711a', '0000000000000006', '00007ffd4b8b5300', '00007ffd4b86ce24'],
  hex(SERVER_KEYS),
  hex('done\0'),
]
