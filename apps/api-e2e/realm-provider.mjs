import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import Provider from 'oidc-provider';

/**
 * Stands in for the identity provider of deploy/compose.yaml: an OpenID provider with the clients and the user of its realm, at the
 * paths of that product, behind a proxy. A client gets a token of the user by its client credentials.
 *
 * Usage: node realm-provider.mjs <realm file> <issuer>. Message to the parent: `{ port }`.
 */
const [, , file, issuer] = process.argv;
const realm = JSON.parse(readFileSync(file, 'utf8'));
const [user] = realm.users;
const [{ protocolMappers }] = realm.clients;
const prefix = new URL(issuer).pathname;

const provider = new Provider(issuer, {
  clients: realm.clients.map(({ clientId, secret }) => ({
    client_id: clientId,
    client_secret: secret,
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
  })),
  routes: { token: '/protocol/openid-connect/token', jwks: '/protocol/openid-connect/certs' },
  extraTokenClaims: () => ({ email: user.email, email_verified: user.emailVerified }),
  formats: {
    customizers: {
      jwt(_context, _token, jwt) {
        jwt.header = { typ: 'JWT' };
      },
    },
  },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => 'urn:banking',
      getResourceServerInfo: () => ({
        scope: '',
        audience: protocolMappers[0].config['included.custom.audience'],
        accessTokenFormat: 'jwt',
        accessTokenTTL: realm.accessTokenLifespan,
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
});
provider.proxy = true;

const handle = provider.callback();
const server = createServer((request, response) => {
  request.originalUrl = request.url;
  request.url = request.url.slice(prefix.length);
  handle(request, response);
});
process.on('disconnect', () => process.exit(0));
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
