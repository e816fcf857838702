import type { Credential } from '@banking/client';
import { RefreshTokenSession } from '@banking/client/session';
import type { UpstreamCredential } from './read-upstream.js';
import { readTokenFile, TokenFile } from './token-file.js';

/** What we show at the upstream: a token that stays, one that somebody keeps current in a file, or a session of our own. */
export function credentialFrom(wish: UpstreamCredential): Credential {
  switch (wish.kind) {
    case 'token': {
      const token = Promise.resolve(wish.token);
      return { token: () => token, renewed: () => token };
    }
    case 'token-file':
      return readTokenFile(wish.file);
    case 'session':
      return new RefreshTokenSession({ authUrl: wish.authUrl, store: new TokenFile(wish.file) });
  }
}
