import type { OpenAPIObject } from '@nestjs/swagger';
import { auditCsv } from '../audit-events/audit-events.controller.js';
import { offlineDocument } from './offline-document.js';

/** A name that says that its value is an id, or a list of ids. */
const IS_ID = /(?:^|[a-z0-9_-])ids?$/i;

/** The resource itself, and the keyword of JSON Schema. */
const ALONE = ['id', '$id'];

/** Whether a name in a body is that of an id and is not spelled as the published interface does: `recipientID`. */
const isMisspelled = (name: string): boolean =>
  IS_ID.test(name) && !ALONE.includes(name) && !/[a-z0-9]IDs?$/.test(name);

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The misspelled names of an object. The body of an error is the exception: its `requestId` has the name of the header. */
const misspelledOf = (members: Json, place: string): string[] =>
  Object.keys(members)
    .filter((name) => isMisspelled(name) && !(name === 'requestId' && 'errorCode' in members))
    .map((name) => `${place}/${name}`);

/** The misspelled names of the members of a body, at any depth. */
function misspelledInBody(value: unknown, place: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => misspelledInBody(item, `${place}/${index}`));
  if (!isObject(value)) return [];
  const inner = Object.entries(value).flatMap(([name, member]) => misspelledInBody(member, `${place}/${name}`));
  return [...misspelledOf(value, place), ...inner];
}

/** The misspelled names of the properties of all schemas below a place in the document, and those in all examples. */
function misspelledIn(value: unknown, place: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => misspelledIn(item, `${place}/${index}`));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const here = `${place}/${name}`;
    if (name === 'value' || name === 'example') return misspelledInBody(inner, here);
    const ofProperties = name === 'properties' && isObject(inner) ? misspelledOf(inner, here) : [];
    return [...ofProperties, ...misspelledIn(inner, here)];
  });
}

describe('the names of ids', () => {
  let document: OpenAPIObject;
  beforeAll(async () => {
    document = await offlineDocument();
  });

  it('end in ID in every body: requests, responses, webhooks and their examples, at any depth', () => {
    const { paths, webhooks, components } = document as OpenAPIObject & { readonly webhooks: object };

    expect(Object.keys(webhooks)).not.toEqual([]);
    expect(misspelledIn({ operations: Object.values(paths), webhooks, components }, '')).toEqual([]);
  });

  it('end in ID in the table of the audit trail', () => {
    const columns = auditCsv([]).replace('\ufeff', '').trim().split(',');

    expect(columns).toEqual(expect.arrayContaining(['resourceID', 'userID', 'tokenID', 'clientID', 'requestID']));
    expect(columns.filter(isMisspelled)).toEqual([]);
  });

  it('end in Id in paths and queries', () => {
    const parameters = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.values(item as Record<string, { parameters?: { in: string; name: string }[] }>).flatMap(
        ({ parameters: all = [] }) => all.filter((one) => one.in !== 'header').map(({ name }) => `${path} ${name}`),
      ),
    );

    expect(parameters.filter((name) => IS_ID.test(name)).length).toBeGreaterThan(20);
    expect(parameters.filter((name) => IS_ID.test(name) && !/[a-z]Id$/.test(name))).toEqual([]);
  });

  it.each(['orderId', 'order_id', 'orderid', 'orderIds', 'OrderId', 'order-id', 'ids'])(
    'are found if one is spelled %s',
    (name) => {
      const schema = { type: 'object', properties: { edges: { properties: { [name]: { type: 'integer' } } } } };
      expect(misspelledIn(schema, '')).toEqual([`/properties/edges/properties/${name}`]);
      const example = { example: [{ changes: { [name]: 1 } }] };
      expect(misspelledIn(example, '')).toEqual([`/example/0/changes/${name}`]);
    },
  );

  it.each(['id', '$id', 'orderID', 'orderIDs', 'identity', 'clientIdentifier'])('may be %s', (name) => {
    expect(misspelledIn({ properties: { [name]: {} } }, '')).toEqual([]);
  });
});
