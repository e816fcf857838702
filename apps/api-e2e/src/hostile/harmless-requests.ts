import { CANARY } from '../log-lines.js';
import type { HostileCase } from './hostile-case.js';

/** Requests with an unusual part that the service ignores. */
export const UNUSUAL_REQUESTS: readonly HostileCase[] = [
  { what: 'an expectation that cannot be fulfilled', path: '/apps', with: { Expect: 'a-miracle' }, status: 200 },
  {
    what: 'headers of a proxy that is not configured',
    path: '/apps',
    with: { 'X-Forwarded-For': '1.2.3.4', 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'https' },
    status: 200,
  },
  {
    what: 'a header that would rewrite the path',
    path: '/apps',
    with: { 'X-Original-URL': '/docs', 'X-Rewrite-URL': '/docs' },
    status: 200,
  },
  { what: 'a method override on GET', path: '/apps', with: { 'X-HTTP-Method-Override': 'DELETE' }, status: 200 },
  {
    what: 'a GET with a body',
    path: '/apps',
    with: { 'Content-Type': 'application/json', 'Content-Length': '7' },
    body: '{"a":1}',
    status: 200,
  },
  {
    what: 'a request id that would break a log line',
    path: '/apps',
    with: { 'X-Request-Id': `${CANARY} {"level":"fatal"}` },
    status: 200,
  },
  { what: 'a foreign origin', path: '/apps', with: { Origin: 'https://evil.example' }, status: 200 },
  { what: 'an Accept of everything', path: '/apps', with: { Accept: '*/*' }, status: 200 },
  {
    what: 'more than one space after the scheme',
    path: '/apps',
    with: { Authorization: 'Bearer  {token}' },
    status: 200,
  },
];
