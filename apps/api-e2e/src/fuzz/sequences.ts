import * as fc from 'fast-check';
import type { FuzzedRoute } from './routes.js';
import { method, query } from './random-heads.js';
import { type Change, type Step, TEXT_MARKER } from './step.js';
import { ODD_IDS, ODD_NAMES, oddText, oddValue, valueOf } from './values.js';

/** Changes that fit the operation: a schema may still accept the request. */
function changesOf({ body, queries }: FuzzedRoute): fc.Arbitrary<Change> {
  const fields = Object.entries(body?.properties ?? {});
  const details = Object.entries(body?.properties?.['data']?.properties ?? {});
  const likely = (kind: 'field' | 'detail', known: typeof fields) =>
    known.map(([name, schema]) => ({
      weight: 2,
      arbitrary: fc
        .oneof({ weight: 3, arbitrary: valueOf(schema) }, oddValue)
        .map((value): Change => ({ kind, name, value })),
    }));
  const inQuery = queries.map(({ name, schema }) => ({
    weight: 3,
    arbitrary: fc
      .oneof({ weight: 3, arbitrary: valueOf(schema).map(String) }, oddText)
      .map((text): Change => ({ kind: 'query', name, text: wellFormed(text) })),
  }));
  const inBody = body
    ? [
        { weight: 2, arbitrary: fc.nat(9).map((which): Change => ({ kind: 'drop', which })) },
        {
          weight: 2,
          arbitrary: fc
            .tuple(fc.constantFrom(...ODD_NAMES), oddValue)
            .map(([name, value]): Change => ({ kind: 'field', name, value })),
        },
        {
          weight: 1,
          arbitrary: fc
            .oneof(oddText, fc.json({ maxDepth: 3 }), fc.constantFrom('{', '[]', 'null', ''))
            .map((text): Change => ({ kind: 'body', text })),
        },
      ]
    : [];
  return fc.oneof(
    ...likely('field', fields),
    ...likely('detail', details),
    ...inQuery,
    ...inBody,
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.nat(3), fc.constantFrom(...ODD_IDS))
        .map(([which, text]): Change => ({ kind: 'path', which, text })),
    },
    { weight: 1, arbitrary: query.map((text): Change => ({ kind: 'query', name: '', text: text.slice(1) })) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom(...HEADERS), headerValue)
        .map(([name, text]): Change => ({ kind: 'header', name, text })),
    },
    { weight: 1, arbitrary: method.map((verb): Change => ({ kind: 'method', method: verb })) },
  );
}

const HEADERS = [
  'Workspace-ID',
  'Accept',
  'Content-Type',
  'If-None-Match',
  'Idempotency-Key',
  'Authorization',
  'Content-Encoding',
  'X-Request-Id',
  'Accept-Language',
  'Prefer',
];
const headerValue = fc
  .oneof(
    fc.constantFrom(
      '',
      '1',
      '2',
      '999999',
      '*/*',
      'text/csv',
      'image/png',
      'application/json',
      'text/plain',
      '"x"',
      '*',
      'gzip',
      `${TEXT_MARKER} x`,
      'a'.repeat(300),
    ),
    fc.stringMatching(/^[\x20-\x7e]{0,40}$/),
  )
  .map((text) => text.trim());

/** A lone surrogate cannot be written in a query. */
const wellFormed = (text: string) => text.replace(/\p{Surrogate}/gu, '?');

/** Operations whose requests use what the ones before them created. */
const FLOWS: readonly (readonly string[])[] = [
  ['placeOrder', 'getOrder', 'cancelOrder', 'getOrderById', 'resumeOrder', 'placeOrder'],
  ['createQuote', 'getQuote', 'placeOrder', 'listTransfers', 'getTransfer', 'addTransactionEvent', 'getTransaction'],
  ['openAccount', 'fundAccount', 'changeAccount', 'getAccount', 'placeOrder', 'getStatement', 'getStatement'],
  [
    'addInternationalRecipient',
    'changeRecipient',
    'createQuote',
    'placeOrder',
    'deleteRecipient',
    'getRecipient',
    'placeOrder',
  ],
  [
    'addInternalRecipient',
    'getRecipient',
    'placeOrder',
    'listOrders',
    'listOrders',
    'moveClock',
    'getOrder',
    'cancelOrder',
  ],
  [
    'createWebhookEndpoint',
    'replayWebhookEvents',
    'changeWebhookEndpoint',
    'testWebhookEndpoint',
    'retryWebhookDelivery',
    'listWebhookDeliveries',
    'rotateWebhookSecret',
    'deleteWebhookEndpoint',
    'getWebhookEndpoint',
  ],
];
const STEPS_MAX = 16;

/** A step. The more changes, the more likely the service refuses it. */
function stepOf(route: FuzzedRoute, unchanged: number): fc.Arbitrary<Step> {
  const pick = fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.nat(30));
  return fc.record<Step>({
    operationId: fc.constant(route.operationId),
    example: fc.nat(5),
    picks: fc.tuple(pick, pick, pick, pick),
    caller: fc.oneof(
      { weight: 30, arbitrary: fc.constant('ada' as const) },
      fc.constantFrom('bob' as const, 'eve' as const, 'none' as const),
    ),
    key: fc.constantFrom('none', 'new', 'new', 'same'),
    changes: fc.oneof(
      { weight: unchanged, arbitrary: fc.constant([]) },
      fc.array(changesOf(route), { minLength: 1, maxLength: 3 }),
    ),
  });
}

/** Sequences of steps: any operations in any order, or a flow whose steps follow from each other. */
export function sequencesOf(routes: readonly FuzzedRoute[]): fc.Arbitrary<readonly Step[]> {
  const anyStep = fc.oneof(...routes.map((route) => ({ weight: route.weight, arbitrary: stepOf(route, 1) })));
  const flows = FLOWS.map((names) => {
    const inFlow = names.flatMap((name) => routes.filter(({ operationId }) => operationId === name));
    return fc.tuple(...inFlow.map((route) => stepOf(route, 4)));
  });
  return fc.oneof(
    { weight: 4, arbitrary: fc.array(anyStep, { minLength: 1, maxLength: STEPS_MAX, size: 'max' }) },
    ...flows,
  );
}
