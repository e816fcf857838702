import { CANARY } from '../log-lines.js';
import { type HostileCase, TRANSFER, UNAUTHENTICATED } from './hostile-case.js';

const TWICE = { status: 400, reason: 'header_repeated' };
const NO_WORKSPACE_ID = { status: 400, reason: 'workspace_id_invalid' };

/** Credentials that are no bearer token. Forged tokens are in `forge.ts`. */
export const CREDENTIALS: readonly HostileCase[] = [
  { what: 'no credential', path: '/apps', with: { Authorization: null }, ...UNAUTHENTICATED },
  { what: 'no credential, on a transfer', path: TRANSFER, with: { Authorization: null }, ...UNAUTHENTICATED },
  { what: 'an empty header', path: '/apps', with: { Authorization: '' }, ...UNAUTHENTICATED },
  { what: 'a scheme alone', path: '/products', with: { Authorization: 'Bearer' }, ...UNAUTHENTICATED },
  { what: 'a scheme and spaces', path: '/products', with: { Authorization: 'Bearer    ' }, ...UNAUTHENTICATED },
  { what: 'another scheme', path: '/products', with: { Authorization: 'Basic dTpw' }, ...UNAUTHENTICATED },
  { what: 'a token without a scheme', path: '/apps', with: { Authorization: '{token}' }, ...UNAUTHENTICATED },
  { what: 'a scheme that begins alike', path: '/apps', with: { Authorization: 'BearerX {token}' }, ...UNAUTHENTICATED },
  { what: 'no space after the scheme', path: '/apps', with: { Authorization: 'Bearer{token}' }, ...UNAUTHENTICATED },
  {
    what: 'two tokens in one header',
    path: '/apps',
    with: { Authorization: 'Bearer {token} {token}' },
    ...UNAUTHENTICATED,
  },
  {
    what: 'two tokens with a comma',
    path: '/apps',
    with: { Authorization: 'Bearer {token}, Bearer {token}' },
    ...UNAUTHENTICATED,
  },
  {
    what: 'two headers',
    path: '/apps',
    with: { Authorization: ['Bearer {token}', 'Bearer {other}'] },
    ...UNAUTHENTICATED,
  },
  {
    what: 'the same header twice',
    path: '/apps',
    with: { Authorization: ['Bearer {token}', 'Bearer {token}'] },
    ...UNAUTHENTICATED,
  },
  {
    what: 'a bad header before the good one',
    path: '/apps',
    with: { Authorization: ['Basic dTpw', 'Bearer {token}'] },
    ...UNAUTHENTICATED,
  },
  {
    what: 'a token in a cookie',
    path: '/apps',
    with: { Authorization: null, Cookie: 'access_token={token}' },
    ...UNAUTHENTICATED,
  },
  {
    what: 'a token in the query',
    path: `/apps?access_token=${CANARY}`,
    with: { Authorization: null },
    ...UNAUTHENTICATED,
  },
  { what: 'two parts', path: '/apps', with: { Authorization: 'Bearer a.b' }, ...UNAUTHENTICATED },
  { what: 'four parts', path: '/apps', with: { Authorization: 'Bearer a.b.c.d' }, ...UNAUTHENTICATED },
  {
    what: 'the five parts of an encrypted token',
    path: '/apps',
    with: { Authorization: 'Bearer a.b.c.d.e' },
    ...UNAUTHENTICATED,
  },
  { what: 'empty parts', path: '/apps', with: { Authorization: 'Bearer ..' }, ...UNAUTHENTICATED },
  { what: 'a quoted token', path: '/apps', with: { Authorization: 'Bearer "{token}"' }, ...UNAUTHENTICATED },
  { what: 'characters beyond ASCII', path: '/apps', with: { Authorization: 'Bearer жетон' }, ...UNAUTHENTICATED },
  {
    what: 'a token of 20 KiB',
    path: '/apps',
    with: { Authorization: `Bearer ${'A'.repeat(20_480)}` },
    status: 431,
    reason: 'headers_too_large',
  },
];

/** Workspace-ID is one id in one spelling. */
export const WORKSPACE_IDS: readonly HostileCase[] = [
  {
    what: 'no Workspace-ID',
    path: TRANSFER,
    with: { 'Workspace-ID': null },
    status: 400,
    reason: 'workspace_id_required',
  },
  ...[
    '',
    'abc',
    '-1',
    '+1',
    '0',
    '01',
    '1e0',
    '1.0',
    '0x1',
    ' 1 ;',
    '1,2',
    '9007199254740993',
    '9007199254740992',
    '1'.repeat(400),
    '٣',
    '１',
    'null',
    '__proto__',
    "1' or '1'='1",
    '1\t2',
  ].map((value) => ({
    what: `Workspace-ID ${JSON.stringify(value.slice(0, 30))}`,
    path: TRANSFER,
    with: { 'Workspace-ID': value },
    ...NO_WORKSPACE_ID,
  })),
  { what: 'two of them', path: TRANSFER, with: { 'Workspace-ID': ['{workspace}', '2'] }, ...TWICE },
  {
    what: 'the same twice',
    path: TRANSFER,
    with: { 'Workspace-ID': ['{workspace}', '{workspace}'] },
    ...TWICE,
  },
  {
    what: 'one in the query',
    path: `${TRANSFER}?Workspace-ID=1`,
    with: { 'Workspace-ID': null },
    status: 400,
    reason: 'workspace_id_required',
  },
  {
    what: 'one that is not there',
    path: TRANSFER,
    with: { 'Workspace-ID': '999999' },
    status: 403,
    reason: 'workspace_forbidden',
  },
  {
    what: 'the largest there can be',
    path: TRANSFER,
    with: { 'Workspace-ID': '9007199254740991' },
    status: 403,
    reason: 'workspace_forbidden',
  },
  {
    what: 'a bad one without a token',
    path: TRANSFER,
    with: { 'Workspace-ID': 'abc', Authorization: null },
    ...UNAUTHENTICATED,
  },
];
