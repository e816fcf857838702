import { isDeepStrictEqual } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { offlineDocument } from './offline-document.js';

interface Schema {
  readonly type?: string;
  readonly $ref?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly examples?: readonly unknown[];
}
type Examples = Readonly<Record<string, { readonly value?: unknown }>>;

interface Parameter {
  readonly name: string;
  readonly schema: Schema;
  readonly example?: unknown;
  readonly examples?: Examples;
}

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}
type Content = Readonly<Record<string, { readonly schema: Schema; readonly examples?: Examples }>>;
type Instance = Readonly<Record<string, unknown>>;

/** The resource that a parameter or a field of a body names by its id. */
const NAMED: Readonly<Record<string, string>> = {
  accountId: 'Account',
  accountID: 'Account',
  appId: 'App',
  orderId: 'Order',
  productID: 'Product',
  quoteId: 'Quote',
  quoteID: 'Quote',
  recipientId: 'Recipient',
  recipientID: 'Recipient',
  transactionId: 'Transaction',
  transferId: 'Transfer',
  serviceAccountId: 'ServiceAccount',
  keyId: 'ServiceAccountKey',
  webhookDeliveryId: 'WebhookDelivery',
  webhookEndpointId: 'WebhookEndpoint',
  'Workspace-ID': 'Workspace',
};

/** Fields that differ in each deployment, and what a removal stops: the removed member of the recorded response has made nothing. */
const VOLATILE =
  /^(uetr|rateAsOf|hash|digest|code|valueDate|\w+At|pausedOrderIDs|disabledWebhookEndpointIDs|revokedKeyIDs)$/;

const WITH_SECRET = 'WebhookEndpointWithSecret';

describe('the examples of the document', () => {
  let schemas: Readonly<Record<string, Schema>>;
  let operations: readonly Operation[];
  /** All records of the recorded responses, by the name of their schema. */
  const shown = new Map<string, Instance[]>();

  const nameOf = ($ref: string) => $ref.split('/').at(-1) ?? '';

  function collect(schema: Schema, value: unknown): void {
    if (value === undefined) return;
    if (schema.$ref) {
      const name = nameOf(schema.$ref);
      shown.set(name, [...(shown.get(name) ?? []), value as Instance]);
      collect(schemas[name] ?? {}, value);
    }
    if (schema.items) for (const item of value as unknown[]) collect(schema.items, item);
    for (const [field, inner] of Object.entries(schema.properties ?? {})) collect(inner, (value as Instance)[field]);
  }

  const responsesOf = ({ responses }: Operation) =>
    ['200', '201', '202'].flatMap((status) => {
      const { schema = {}, examples = {} } = responses[status]?.content?.['application/json'] ?? {};
      return Object.entries(examples).map(([name, { value }]) => ({ name, schema, value }));
    });
  const bodiesOf = ({ requestBody }: Operation) => {
    const { schema = {}, examples = {} } = requestBody?.content['application/json'] ?? {};
    return Object.entries(examples).map(([name, { value }]) => ({ name, schema, value }));
  };
  const valuesOf = ({ example, examples }: Parameter) =>
    examples ? Object.values(examples).map(({ value }) => value) : example === undefined ? [] : [example];

  async function read(deployment?: { readonly sandbox: boolean }) {
    const { paths, components } = await offlineDocument(deployment);
    return {
      schemas: components?.schemas as typeof schemas,
      operations: Object.values(paths).flatMap((item) => Object.values(item as Record<string, Operation>)),
    };
  }

  beforeAll(async () => {
    ({ schemas, operations } = await read());
    for (const operation of operations) for (const { schema, value } of responsesOf(operation)) collect(schema, value);
    // The transfers of a transaction are transfers, an endpoint with its secret is an endpoint, and an invited member is a member.
    shown.set('WebhookEndpoint', [...(shown.get('WebhookEndpoint') ?? []), ...(shown.get(WITH_SECRET) ?? [])]);
    const withSecret = shown.get('ServiceAccountKeyWithSecret') ?? [];
    shown.set('ServiceAccountKey', [...(shown.get('ServiceAccountKey') ?? []), ...withSecret]);
    for (const name of ['InvitedMember', 'JoinedMember', 'RemovedMember'])
      shown.set(name, [...(shown.get('Member') ?? []), ...(shown.get(name) ?? [])]);
    shown.set('Transfer', [...(shown.get('Transfer') ?? []), ...(shown.get('ExecutedTransfer') ?? [])]);
  });

  it('name only ids of resources that a recorded response shows', () => {
    const named = operations
      .flatMap((operation) => [
        ...operation.parameters.flatMap((one) =>
          valuesOf(one).map((id) => [operation.operationId, one.name, id] as const),
        ),
        ...bodiesOf(operation).flatMap(({ value }) =>
          Object.entries(value as Instance).map(([field, id]) => [operation.operationId, field, id] as const),
        ),
      ])
      .filter(([, name]) => name in NAMED);
    const missing = named.filter(([, name, id]) => !shown.get(NAMED[name] ?? '')?.some((one) => one['id'] === id));

    expect(named.length).toBeGreaterThan(30);
    expect(missing).toEqual([]);
  });

  it('give the fields of a schema the values of a record in a recorded response', () => {
    const compared = Object.entries(schemas).flatMap(([name, { properties = {} }]) => {
      const id = properties['id']?.examples?.[0];
      if (id === undefined || name === 'ExecutedTransfer' || name === WITH_SECRET) return [];
      const instances = shown.get(name) ?? [];
      const records = instances.filter((one) => one['id'] === id);
      const valueOfRecord = (field: string, example: unknown) =>
        (records.find((one) => isDeepStrictEqual(one[field], example)) ?? records[0])?.[field];
      return Object.entries(properties)
        .filter(([field, { examples }]) => examples && !VOLATILE.test(field))
        .map(([field, { examples }]) => ({
          field: `${name}.${field}`,
          example: examples?.[0],
          shown: valueOfRecord(field, examples?.[0]) ?? elsewhere(instances, field, examples?.[0]),
        }));
    });

    expect(compared.length).toBeGreaterThan(50);
    expect(compared.map(({ field, shown: value }) => [field, value])).toEqual(
      compared.map(({ field, example }) => [field, example]),
    );
  });

  /** For an optional field that the record lacks: its example, where another record has it, or no record has the field. */
  const elsewhere = (instances: readonly Instance[], field: string, value: unknown) =>
    instances.every((one) => one[field] === undefined) || instances.some((one) => one[field] === value)
      ? value
      : undefined;

  it.each([true, false])(
    'match their schemas, which are valid JSON Schema 2020-12, with sandbox %p',
    async (sandbox) => {
      const { schemas, operations } = await read({ sandbox });
      const ajv = new Ajv2020({ strict: true, allErrors: true, validateFormats: false });
      ajv.addVocabulary(['x-provenance', 'components']);
      ajv.addSchema({ $id: 'document', components: { schemas: absolute(schemas) } });
      const misfits = (schema: Schema, value: unknown) => {
        const check = ajv.compile(absolute(schema) as object);
        return check(value)
          ? []
          : (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
      };

      for (const operation of operations) {
        for (const { name, schema, value } of [...responsesOf(operation), ...bodiesOf(operation)])
          expect([operation.operationId, name, misfits(schema, value)]).toEqual([operation.operationId, name, []]);
        for (const parameter of operation.parameters) {
          for (const value of valuesOf(parameter))
            expect([operation.operationId, parameter.name, misfits(parameter.schema, value)]).toEqual([
              operation.operationId,
              parameter.name,
              [],
            ]);
        }
      }
      for (const [name, { properties = {} }] of Object.entries(schemas)) {
        for (const [field, property] of Object.entries(properties)) {
          for (const value of property.examples ?? [])
            expect([name, field, misfits(property, value)]).toEqual([name, field, []]);
        }
      }
    },
  );

  /** References as a schema outside of the document writes them. */
  const absolute = <T>(part: T): T =>
    JSON.parse(JSON.stringify(part).replaceAll('"#/components/', '"document#/components/')) as T;
});
