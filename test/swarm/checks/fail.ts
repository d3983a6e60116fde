/** A check has found something wrong, in words. */
export type Fail = (what: string) => void
