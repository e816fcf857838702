import { errors } from 'jose';

/** Why a credential was refused, for the log and for metrics. Messages of the library quote the token, so none is used. */
export type CredentialFault =
  | 'missing'
  | 'repeated'
  | 'malformed'
  | 'signature'
  | 'algorithm'
  | 'unknown_key'
  | 'unsupported'
  | 'issuer'
  | 'audience'
  | 'type'
  | 'expired'
  | 'not_yet_valid'
  | 'claim'
  | 'no_access_token'
  | 'proof_required'
  | 'unknown_user'
  | 'unverifiable';

const BY_CODE: Readonly<Record<string, CredentialFault>> = {
  ERR_JWS_INVALID: 'malformed',
  ERR_JWT_INVALID: 'malformed',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'signature',
  ERR_JOSE_ALG_NOT_ALLOWED: 'algorithm',
  ERR_JOSE_NOT_SUPPORTED: 'unsupported',
  ERR_JWKS_NO_MATCHING_KEY: 'unknown_key',
  ERR_JWT_EXPIRED: 'expired',
};

/** What a claim that is missing or wrong says of the token. */
const BY_CLAIM: Readonly<Record<string, CredentialFault>> = {
  iss: 'issuer',
  aud: 'audience',
  typ: 'type',
  nbf: 'not_yet_valid',
};

/** The code for an error of the verification. */
export function faultOfVerification(error: Error): CredentialFault {
  if (error instanceof errors.JWTClaimValidationFailed) return BY_CLAIM[error.claim] ?? 'claim';
  return (error instanceof errors.JOSEError ? BY_CODE[error.code] : undefined) ?? 'unverifiable';
}
