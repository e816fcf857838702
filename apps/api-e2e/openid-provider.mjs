import { createServer } from 'node:http';
import Provider from 'oidc-provider';

/**
 * An OpenID provider in a separate process: a service account gets JWT access tokens (RFC 9068) for a resource by its
 * client credentials. Reports its issuer and each request for its keys.
 *
 * Usage: node openid-provider.mjs <port>, with 0 for a free one. Messages to the parent: `{ issuer }`, `{ keysFetched }`.
 */
const RESOURCES = { 'urn:banking': 'banking-api', 'urn:elsewhere': 'other-api' };

const server = createServer();
await new Promise((listening) => server.listen(Number(process.argv[2]), '127.0.0.1', listening));
const issuer = `http://127.0.0.1:${server.address().port}`;

const account = { grant_types: ['client_credentials'], redirect_uris: [], response_types: [] };
const provider = new Provider(issuer, {
  clients: ['payroll-service', 'unknown-service'].map((id) => ({
    ...account,
    client_id: id,
    client_secret: `${id}-secret`,
  })),
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_context, resource) => ({
        scope: '',
        audience: RESOURCES[resource],
        accessTokenFormat: 'jwt',
        accessTokenTTL: 600,
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
});

let keysFetched = 0;
const handle = provider.callback();
server.on('request', (request, response) => {
  if (request.url === '/jwks') process.send({ keysFetched: (keysFetched += 1) });
  handle(request, response);
});
process.on('disconnect', () => process.exit(0));
process.send({ issuer });
