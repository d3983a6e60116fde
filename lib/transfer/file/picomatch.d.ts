/** What of the package is used. */
declare module 'picomatch' {
  export default function picomatch(
    pattern: string,
    options?: { dot?: boolean; strictBrackets?: boolean },
  ): (text: string) => boolean
}
