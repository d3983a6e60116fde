/** What the system says of a file that it will not read, for people. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
  EEXIST: 'there is something else of that name',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of its path is no directory',
  ENOSPC: 'no space is left there',
  ELOOP: 'its links lead in a circle',
  ENAMETOOLONG: 'its name is too long',
  EROFS: 'it is on a file system that is only read',
}

/** As for reading, but for what has to be there already. */
const WRITE_REASONS: Readonly<Record<string, string>> = { ...REASONS, ENOENT: 'there is no such folder' }

/** Why a file cannot be read, from the error of a system call. */
export function whyNotRead(cause: unknown): string {
  return reason(REASONS, cause)
}

/** Why a file cannot be written, from the error of a system call. */
export function whyNotWritten(cause: unknown): string {
  return reason(WRITE_REASONS, cause)
}

function reason(reasons: Readonly<Record<string, string>>, cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException
  return (code !== undefined && reasons[code]) || message || String(cause)
}
