/** Why a file that is whole does not get its name. */
import { TransferFailure } from '../protocol/failure.js'

export function nameTaken(): TransferFailure {
  return new TransferFailure('EXISTS', 'a file of that name has appeared meanwhile: --overwrite replaces it')
}

/** File systems without hard links: there the check at the offer is all there is. */
export function hasNoLinks(error: unknown): boolean {
  return ['EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK'].includes((error as NodeJS.ErrnoException).code ?? '')
}
