import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { callOf, type Document, examplesOf, type Route, routesOf, successOf } from '../documented/document.js';
import {
  bodySchemaOf,
  type Json,
  ODD_IDS,
  ODD_NAMES,
  oddJson,
  oddText,
  oddValue,
  oddWord,
  TEXT_MARKER,
  valueOf,
} from '../documented/inputs.js';
import type { SentRequest } from '../hostile/raw-request.js';
import { IDENTIFIERS } from '../isolation/classification.js';

/** A request while its changes are applied. */
interface Draft {
  method: string;
  path: string[];
  query: string;
  headers: Record<string, string>;
  body: Record<string, Json> | string | undefined;
}

/** One change of a valid request. */
type Change = (draft: Draft) => void;

/** One request of a sequence: an operation with the values of an example, known ids and changes. */
export interface Step {
  readonly operationId: string;
  /** Which example of the operation. */
  readonly example: number;
  /** Which known ids replace those of the example. 0 keeps the id of the example. */
  readonly picks: readonly number[];
  readonly caller: 'ada' | 'bob' | 'eve' | 'none';
  readonly key: 'none' | 'new' | 'same';
  readonly changes: readonly Change[];
}

/** The ids that the responses of a sequence contained, by the kinds of the isolation suite. */
export class KnownIds {
  private readonly ids = new Map<string, (number | string)[]>();
  /** An order is found below its account only. */
  private readonly orders: { readonly account: number; readonly order: number }[] = [];

  /** A known id for a position. A pick of 0 is none. */
  pick(position: string, pick: number): number | string | undefined {
    const known = this.ids.get(IDENTIFIERS[position] ?? '') ?? [];
    return pick === 0 ? undefined : known[(pick - 1) % known.length];
  }

  /** An order of the sequence with its account, the newest for a pick of 0. */
  pickOrder(pick: number): { readonly account: number; readonly order: number } | undefined {
    return this.orders[pick % this.orders.length];
  }

  /** Takes the ids from a successful response. */
  learn(operationId: string, path: string, body: unknown, link: string | undefined): void {
    const cursor = /[?&]cursor=([^&>]+)/.exec(link ?? '')?.[1];
    if (cursor !== undefined) this.add('cursor', decodeURIComponent(cursor));
    const kind = kindReturnedBy(operationId);
    const account = Number(/^\/accounts\/([0-9]+)/.exec(path)?.[1]);
    for (const one of [body].flat()) {
      if (kind === 'order' && account > 0 && isResource(one)) this.orders.unshift({ account, order: one.id });
      this.walk(one, kind);
    }
  }

  private walk(value: unknown, kind: string | undefined): void {
    if (Array.isArray(value)) return value.forEach((one) => this.walk(one, kind));
    if (typeof value !== 'object' || value === null) return;
    if (kind !== undefined && isResource(value)) this.add(kind, value.id);
    for (const [name, inner] of Object.entries(value)) {
      this.walk(inner, name === 'edges' ? undefined : name.replace(/s$/, ''));
    }
  }

  private add(kind: string, id: number | string): void {
    const known = this.ids.get(kind) ?? [];
    // The newest first: what a sequence has just created is what its next steps use.
    if (!known.includes(id)) this.ids.set(kind, [id, ...known].slice(0, 12));
  }
}

/** The kind of the resource that an operation returns, alone or in a list. */
function kindReturnedBy(operationId: string): string | undefined {
  const noun =
    /(WebhookEndpoint|WebhookDeliver|ServiceAccount|ServiceAccountKey|Account|Recipient|Quote|Order|Transfer|Event)(?:s|y|ies)?$/.exec(
      operationId,
    )?.[1];
  if (noun === undefined) return undefined;
  return noun === 'WebhookDeliver' ? 'webhookDelivery' : noun.charAt(0).toLowerCase() + noun.slice(1);
}

const isResource = (value: unknown): value is { readonly id: number } =>
  typeof (value as { id?: unknown } | null)?.id === 'number';

interface Filling {
  readonly route: Route;
  readonly step: Step;
  readonly ids: KnownIds;
  /** The Authorization header of the caller, if it sends one. */
  readonly authorization: string | undefined;
  readonly workspace: number;
  /** The key that the operation was called with in this sequence. */
  readonly lastKey: string | undefined;
  /** Recipients that replace those of the examples. */
  readonly recipients: ReadonlyMap<number, number>;
}

/** The request of a step, which is valid apart from its changes, as far as the known ids allow. */
export function fillRequest({ route, step, ids, authorization, workspace, lastKey, recipients }: Filling): SentRequest {
  const { picks } = step;
  const names = Object.keys(examplesOf(route.operation, successOf(route)));
  const call = callOf(route, names[step.example % Math.max(1, names.length)]);
  const [path = '', query = ''] = call.path.split('?', 2);
  const usual = (name: string, value: Json) =>
    name === 'recipientID' ? (recipients.get(Number(value)) ?? value) : value;
  const fields = Object.entries((call.body ?? {}) as Record<string, Json>).map(
    ([name, value], at) => [name, ids.pick(`body ${name}`, picks[1 + (at % 3)] ?? 0) ?? usual(name, value)] as const,
  );
  const draft: Draft = {
    method: call.method,
    path: pathWithKnownIds(route, path.split('/'), picks, ids),
    query,
    headers: { ...call.headers },
    body: call.body === undefined ? undefined : Object.fromEntries(fields),
  };
  const cursor = ids.pick('query cursor', picks[1] ?? 0);
  // A cursor belongs to one list, so most are refused.
  const takesCursor = route.operation.parameters.some(({ name }) => name === 'cursor');
  if (takesCursor && cursor !== undefined && (picks[2] ?? 0) % 3 === 0) setQuery('cursor', String(cursor))(draft);
  delete draft.headers['Idempotency-Key'];
  delete draft.headers['If-None-Match'];
  if ('Workspace-ID' in draft.headers) draft.headers['Workspace-ID'] = String(workspace);
  if (authorization !== undefined) draft.headers['Authorization'] = authorization;
  if (draft.body !== undefined) draft.headers['Content-Type'] = 'application/json';
  const key = step.key === 'new' ? `${TEXT_MARKER}-${randomUUID()}` : step.key === 'same' ? lastKey : undefined;
  if (key !== undefined && 'Idempotency-Key' in call.headers) draft.headers['Idempotency-Key'] = key;
  for (const change of step.changes) change(draft);
  return written(draft);
}

function pathWithKnownIds({ path }: Route, parts: readonly string[], picks: Step['picks'], ids: KnownIds): string[] {
  const names = path.split('/').map((part) => /^\{(\w+)\}$/.exec(part)?.[1]);
  const order = names.includes('orderId') ? ids.pickOrder(picks[0] ?? 0) : undefined;
  return parts.map((part, at) => {
    const name = names[at];
    if (name === undefined) return part;
    if (order !== undefined) return String(name === 'orderId' ? order.order : order.account);
    return String(ids.pick(`path ${name}`, picks[0] ?? 0) ?? part);
  });
}

function written({ method, path, query, headers, body }: Draft): SentRequest {
  const target = `${path.join('/')}${query === '' ? '' : `?${query}`}`.replace(/[^\x21-\x7e]/g, percentEncoded);
  const text = typeof body === 'object' ? JSON.stringify(body) : body;
  return { method, path: target.startsWith('/') ? target : `/${target}`, headers, body: text };
}

const percentEncoded = (character: string) =>
  Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');

/** A member named `__proto__` is a field like any other. */
const withField = (object: Readonly<Record<string, Json>>, name: string, value: Json): Record<string, Json> =>
  Object.fromEntries([...Object.entries(object).filter(([other]) => other !== name), [name, value]]);

const setField =
  (name: string, value: Json): Change =>
  (draft) => {
    if (typeof draft.body === 'object') draft.body = withField(draft.body, name, value);
  };
const setDetail =
  (name: string, value: Json): Change =>
  (draft) => {
    const data = typeof draft.body === 'object' ? draft.body['data'] : undefined;
    if (typeof data !== 'object' || data === null || Array.isArray(data)) return;
    setField('data', withField(data as Record<string, Json>, name, value))(draft);
  };
const dropField =
  (which: number): Change =>
  (draft) => {
    if (typeof draft.body !== 'object') return;
    const fields = Object.entries(draft.body);
    draft.body = Object.fromEntries(fields.filter((_, at) => at !== which % fields.length));
  };
const setQuery =
  (name: string, text: string): Change =>
  (draft) => {
    const kept = draft.query.split('&').filter((pair) => pair !== '' && !pair.startsWith(`${name}=`));
    draft.query = [...kept, `${name}=${encodeURIComponent(text.replace(/\p{Surrogate}/gu, '?'))}`].join('&');
  };
const setId =
  (which: number, text: string): Change =>
  (draft) => {
    const at = draft.path.flatMap((part, index) => (/^[0-9]+$/.test(part) ? [index] : []));
    draft.path[at[which % Math.max(1, at.length)] ?? draft.path.length - 1] = text;
  };

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'SEARCH', 'PURGE'];
const HEADERS = [
  ...['Workspace-ID', 'Accept', 'Content-Type', 'If-None-Match', 'Idempotency-Key', 'Authorization'],
  ...['Content-Encoding', 'X-Request-Id', 'Accept-Language', 'Prefer', 'Accept-Encoding', 'If-Modified-Since'],
  ...['Range', 'Origin', 'Cookie', 'Referer', 'Forwarded', 'X-Forwarded-For', 'TE', 'Max-Forwards', 'Via'],
];
const HEADER_VALUES = [
  ...['', '1', '0', '2', '999999', '*/*', '*/*;q=2', 'text/csv', 'image/png', 'application/json', 'text/plain'],
  ...['"x"', 'W/"', '*', ',', '\\', 'gzip', 'gzip, ;', 'bytes=0-', 'Bearer', '(){:;};', `${TEXT_MARKER} x`],
  ...['a'.repeat(300), 'a'.repeat(2_000)],
];
const headerValue = fc.oneof(fc.constantFrom(...HEADER_VALUES), fc.stringMatching(/^[\x20-\x7e]{0,40}$/));
const queryText = fc
  .array(fc.tuple(oddWord, oddWord), { maxLength: 4 })
  .map((pairs) => pairs.map((pair) => pair.join('=')).join('&'));

/** Changes that fit the operation: a schema may still accept the request. */
function changesOf(document: Document, route: Route): fc.Arbitrary<Change> {
  const { properties = {} } = bodySchemaOf(document, route);
  const names = Object.keys(properties);
  const queries = route.operation.parameters.filter((parameter) => parameter.in === 'query');
  const fitting = (set: typeof setField, known: typeof properties) =>
    Object.entries(known).map(([name, schema]) => ({
      weight: 2,
      arbitrary: fc.oneof({ weight: 3, arbitrary: valueOf(schema) }, oddValue).map((value) => set(name, value)),
    }));
  const body = fc.oneof(oddText, oddJson(names), fc.json({ maxDepth: 3 }), fc.constantFrom('{', '[]', 'null', '')).map(
    (text): Change =>
      (draft) =>
        void (draft.body = text),
  );
  const inBody = [
    { weight: 2, arbitrary: fc.nat(9).map(dropField) },
    { weight: 2, arbitrary: fc.tuple(fc.constantFrom(...ODD_NAMES), oddValue).map((field) => setField(...field)) },
    { weight: 2, arbitrary: body },
  ];
  return fc.oneof(
    ...fitting(setField, properties),
    ...fitting(setDetail, properties['data']?.properties ?? {}),
    ...queries.map(({ name, schema }) => ({
      weight: 3,
      arbitrary: fc
        .oneof({ weight: 3, arbitrary: valueOf(schema).map(String) }, oddText)
        .map((text) => setQuery(name, text)),
    })),
    ...(names.length > 0 ? inBody : []),
    { weight: 2, arbitrary: fc.tuple(fc.nat(3), fc.constantFrom(...ODD_IDS)).map((id) => setId(...id)) },
    {
      weight: 1,
      arbitrary: fc.array(oddWord, { maxLength: 5 }).map(
        (words): Change =>
          (draft) =>
            void (draft.path = ['', ...words]),
      ),
    },
    {
      weight: 1,
      arbitrary: queryText.map(
        (text): Change =>
          (draft) =>
            void (draft.query = text),
      ),
    },
    {
      weight: 3,
      arbitrary: fc.tuple(fc.constantFrom(...HEADERS), headerValue).map(
        ([name, text]): Change =>
          (draft) =>
            void (draft.headers[name] = text.trim()),
      ),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(...METHODS).map(
        (verb): Change =>
          (draft) =>
            void (draft.method = verb),
      ),
    },
  );
}

/** Operations whose requests use what the ones before them created. */
const FLOWS: readonly string[] = [
  'placeOrder getOrder cancelOrder getOrderById resumeOrder placeOrder',
  'createQuote getQuote placeOrder listTransfers getTransfer addTransactionEvent getTransaction',
  'openAccount fundAccount changeAccount getAccount placeOrder getStatement getStatement',
  'addInternationalRecipient changeRecipient createQuote placeOrder deleteRecipient getRecipient placeOrder',
  'addInternalRecipient getRecipient placeOrder listOrders listOrders moveClock getOrder cancelOrder',
  'createWebhookEndpoint replayWebhookEvents changeWebhookEndpoint testWebhookEndpoint retryWebhookDelivery ' +
    'listWebhookDeliveries rotateWebhookSecret deleteWebhookEndpoint getWebhookEndpoint',
  'createServiceAccount createServiceAccountKey rotateServiceAccountKey listServiceAccountKeys changeServiceAccount ' +
    'revokeServiceAccountKey getServiceAccountKey deleteServiceAccount getServiceAccount',
];
const STEPS_MAX = 16;

/** A moved clock changes every later order of the workspace. */
const RARE = ['moveClock', 'getLiveness', 'getReadiness', 'listApps', 'listProducts', 'listPurposes'];
const FREQUENT = ['placeOrder', 'createQuote', 'addInternationalRecipient', 'cancelOrder', 'resumeOrder'];
/** How often an operation is called, compared to the others. */
const weightOf = (operationId: string) => (RARE.includes(operationId) ? 1 : FREQUENT.includes(operationId) ? 6 : 3);

/** Sequences of steps: any operations in any order, or a flow whose steps follow from each other. */
export function sequencesOf(document: Document): fc.Arbitrary<readonly Step[]> {
  const pick = fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.nat(30));
  /** A step. The more changes, the more likely the service refuses it. */
  const stepOf = (route: Route, unchanged: number) =>
    fc.record<Step>({
      operationId: fc.constant(route.operation.operationId),
      example: fc.nat(5),
      picks: fc.tuple(pick, pick, pick, pick),
      caller: fc.oneof(
        { weight: 30, arbitrary: fc.constant('ada' as const) },
        fc.constantFrom('bob' as const, 'eve' as const, 'none' as const),
      ),
      key: fc.constantFrom('none', 'new', 'new', 'same'),
      changes: fc.oneof(
        { weight: unchanged, arbitrary: fc.constant([]) },
        fc.array(changesOf(document, route), { minLength: 1, maxLength: 3 }),
      ),
    });
  const routes = routesOf(document);
  const anyStep = fc.oneof(
    ...routes.map((route) => ({ weight: weightOf(route.operation.operationId), arbitrary: stepOf(route, 1) })),
  );
  const flows = FLOWS.map((flow) => {
    const inFlow = flow.split(' ').flatMap((name) => routes.filter(({ operation }) => operation.operationId === name));
    return fc.tuple(...inFlow.map((route) => stepOf(route, 4)));
  });
  return fc.oneof(
    { weight: 4, arbitrary: fc.array(anyStep, { minLength: 1, maxLength: STEPS_MAX, size: 'max' }) },
    ...flows,
  );
}
