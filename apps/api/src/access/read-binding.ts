import type { EnvironmentReader } from '@banking/process';

/**
 * Whether a verified e-mail binds a subject to its user. Otherwise only provisioned subjects are recognised, which is the default
 * outside a sandbox: an identity provider may verify e-mails less well than a bank does.
 */
export function readBinding({ text, flag, mistakes }: EnvironmentReader, isSandbox: boolean): boolean {
  // Local tokens and callers of a gateway have no other identity than their e-mail.
  const hasSubjects = text('UPSTREAM_URL') === undefined && text('OIDC_ISSUER') !== undefined;
  const bindsByEmail = flag('OIDC_BIND_BY_EMAIL', isSandbox || !hasSubjects);
  if (bindsByEmail) return true;
  if (text('UPSTREAM_URL') !== undefined) {
    mistakes.push(
      'OIDC_BIND_BY_EMAIL is off beside UPSTREAM_URL. A gateway recognises users by their verified e-mail only: remove OIDC_BIND_BY_EMAIL.',
    );
  } else if (text('OIDC_ISSUER') === undefined) {
    mistakes.push(
      'OIDC_BIND_BY_EMAIL is off and there is no OIDC_ISSUER. Local tokens are recognised by their e-mail: ' +
        'set OIDC_ISSUER, or remove OIDC_BIND_BY_EMAIL.',
    );
  }
  return false;
}
