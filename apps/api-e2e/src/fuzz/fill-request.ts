import { randomUUID } from 'node:crypto';
import { callOf, examplesOf, successOf } from '../documented/document.js';
import type { SentRequest } from './http-sender.js';
import type { KnownIds } from './known-ids.js';
import type { FuzzedRoute } from './routes.js';
import { type Change, type Json, type Step, TEXT_MARKER } from './step.js';

/** A request while its changes are applied. */
interface Draft {
  method: string;
  path: string[];
  query: string;
  headers: Record<string, string>;
  body: Record<string, Json> | string | undefined;
}

export interface Filling {
  readonly route: FuzzedRoute;
  readonly step: Step;
  readonly ids: KnownIds;
  /** The Authorization header of the caller, if it sends one. */
  readonly authorization: string | undefined;
  readonly workspace: number;
  /** The keys that the operation was called with in this sequence. */
  readonly lastKey: string | undefined;
  /** Recipients that replace those of the examples. */
  readonly recipients: ReadonlyMap<number, number>;
}

/** The request of a step, which is valid apart from its changes, as far as the known ids allow. */
export function fillRequest({ route, step, ids, authorization, workspace, lastKey, recipients }: Filling): SentRequest {
  const names = Object.keys(examplesOf(route.route.operation, successOf(route.route)));
  const call = callOf(route.route, names[step.example % Math.max(1, names.length)]);
  const [path = '', query = ''] = call.path.split('?', 2);
  const draft: Draft = {
    method: call.method,
    path: withKnownIds(route, path.split('/'), step.picks, ids),
    query: withKnownCursor(route, query, step.picks, ids),
    headers: { ...call.headers },
    body: bodyWithKnownIds(call.body, step.picks, ids, recipients),
  };
  delete draft.headers['Idempotency-Key'];
  delete draft.headers['If-None-Match'];
  if ('Workspace-ID' in draft.headers) draft.headers['Workspace-ID'] = String(workspace);
  if (authorization !== undefined) draft.headers['Authorization'] = authorization;
  if (draft.body !== undefined) draft.headers['Content-Type'] = 'application/json';
  const key = step.key === 'new' ? `${TEXT_MARKER}-${randomUUID()}` : step.key === 'same' ? lastKey : undefined;
  if (key !== undefined && 'Idempotency-Key' in call.headers) draft.headers['Idempotency-Key'] = key;
  for (const change of step.changes) apply(change, draft);
  return written(draft);
}

function withKnownIds({ route }: FuzzedRoute, parts: readonly string[], picks: Step['picks'], ids: KnownIds): string[] {
  const names = route.path.split('/').map((part) => /^\{(\w+)\}$/.exec(part)?.[1]);
  const order = names.includes('orderId') ? ids.pickOrder(picks[0] ?? 0) : undefined;
  return parts.map((part, at) => {
    const name = names[at];
    if (name === undefined) return part;
    if (order !== undefined) return String(name === 'orderId' ? order.order : order.account);
    return String(ids.pick(name, picks[0] ?? 0) ?? part);
  });
}

function withKnownCursor({ queries }: FuzzedRoute, query: string, picks: Step['picks'], ids: KnownIds): string {
  const values = new URLSearchParams(query);
  const cursor = ids.pick('cursor', picks[1] ?? 0);
  // A cursor belongs to one list, so most are refused.
  if (queries.some(({ name }) => name === 'cursor') && cursor !== undefined && (picks[2] ?? 0) % 3 === 0) {
    values.set('cursor', String(cursor));
  }
  return values.toString();
}

function bodyWithKnownIds(
  body: unknown,
  picks: Step['picks'],
  ids: KnownIds,
  recipients: Filling['recipients'],
): Record<string, Json> | undefined {
  if (body === undefined) return undefined;
  const fields = Object.entries(body as Record<string, Json>);
  const usual = (name: string, value: Json) =>
    name === 'recipientID' ? (recipients.get(Number(value)) ?? value) : value;
  return Object.fromEntries(
    fields.map(([name, value], at) => [name, ids.pick(name, picks[1 + (at % 3)] ?? 0) ?? usual(name, value)] as const),
  );
}

function apply(change: Change, draft: Draft): void {
  const { body } = draft;
  switch (change.kind) {
    case 'field':
      if (typeof body === 'object') draft.body = withField(body, change.name, change.value);
      return;
    case 'detail': {
      if (typeof body !== 'object') return;
      const data = body['data'];
      if (typeof data !== 'object' || data === null || Array.isArray(data)) return;
      draft.body = { ...body, data: withField(data as Record<string, Json>, change.name, change.value) };
      return;
    }
    case 'drop':
      if (typeof body === 'object') {
        const names = Object.keys(body);
        const dropped = names[change.which % Math.max(1, names.length)];
        draft.body = Object.fromEntries(Object.entries(body).filter(([name]) => name !== dropped));
      }
      return;
    case 'body':
      draft.body = change.text;
      return;
    case 'query': {
      const added = change.name === '' ? change.text : `${change.name}=${encodeURIComponent(change.text)}`;
      const kept = draft.query.split('&').filter((pair) => pair !== '' && !pair.startsWith(`${change.name}=`));
      draft.query = [...kept, added].join('&');
      return;
    }
    case 'path': {
      const at = draft.path.flatMap((part, index) => (/^[0-9]+$/.test(part) ? [index] : []));
      const index = at[change.which % Math.max(1, at.length)] ?? draft.path.length - 1;
      draft.path[index] = change.text;
      return;
    }
    case 'header':
      draft.headers[change.name] = change.text;
      return;
    case 'method':
      draft.method = change.method;
  }
}

/** A member named `__proto__` is a field like any other. */
function withField(object: Readonly<Record<string, Json>>, name: string, value: Json): Record<string, Json> {
  return Object.fromEntries([...Object.entries(object).filter(([other]) => other !== name), [name, value]]);
}

function written({ method, path, query, headers, body }: Draft): SentRequest {
  const target = `${path.join('/')}${query === '' ? '' : `?${query}`}`.replace(/[^\x21-\x7e]/g, percentEncoded);
  const text = typeof body === 'object' ? JSON.stringify(body) : body;
  return { method, path: target.startsWith('/') ? target : `/${target}`, headers, body: text };
}

const percentEncoded = (character: string) =>
  Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
