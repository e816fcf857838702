import { errors } from 'jose';

/** Why a credential was refused, as a code for metrics. The log has the whole reason. */
export type CredentialFault =
  | 'missing'
  | 'repeated'
  | 'malformed'
  | 'signature'
  | 'algorithm'
  | 'unknown_key'
  | 'expired'
  | 'claim'
  | 'unknown_user'
  | 'unverifiable';

const BY_CODE: Readonly<Record<string, CredentialFault>> = {
  ERR_JWS_INVALID: 'malformed',
  ERR_JWT_INVALID: 'malformed',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'signature',
  ERR_JOSE_ALG_NOT_ALLOWED: 'algorithm',
  ERR_JWKS_NO_MATCHING_KEY: 'unknown_key',
  ERR_JWT_EXPIRED: 'expired',
  ERR_JWT_CLAIM_VALIDATION_FAILED: 'claim',
};

/** The code for an error of the verification. */
export function faultOfVerification(error: Error): CredentialFault {
  return (error instanceof errors.JOSEError ? BY_CODE[error.code] : undefined) ?? 'unverifiable';
}
