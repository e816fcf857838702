import type { Credential } from '@banking/client';
import { RefreshTokenSession } from '@banking/client/session';
import { readTokenFile, TokenFile } from './token-file.js';
import type { UpstreamCredential } from './upstream-config.js';

/** The credential for the upstream: a fixed token, a token in a file that another process keeps current, or a session of our own. */
export function credentialFrom(config: UpstreamCredential): Credential {
  switch (config.kind) {
    case 'token': {
      const token = Promise.resolve(config.token);
      return { token: () => token, renewed: () => token };
    }
    case 'token-file':
      return readTokenFile(config.file);
    case 'session':
      return new RefreshTokenSession({ authUrl: config.authUrl, store: new TokenFile(config.file) });
  }
}
