import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenAPIObject } from '@nestjs/swagger';
import { approvable, type Operation as PortOperation, OPERATIONS, PAGED_RESULTS, REFUSALS } from '@banking/domain';
import { needsRole, type OperationId, ROWS } from '../access/access-check.js';
import { committedForm } from './committed-document.js';
import { offlineDocument } from './offline-document.js';

describe('the OpenAPI document', () => {
  let document: OpenAPIObject;
  beforeAll(async () => {
    document = await offlineDocument();
  });

  const operations = () =>
    Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item as Record<string, Operation>).map(([method, operation]) => ({ path, method, operation })),
    );

  /** The response that an operation declares or refers to. */
  const resolved = (response: Response | Reference): Response =>
    '$ref' in response
      ? (document.components?.responses?.[response.$ref.replace('#/components/responses/', '')] as unknown as Response)
      : response;
  const isSuccess = (status: string) => Number(status) < 400;

  it('is committed without its examples, by npm run openapi', () => {
    const committed = readFileSync(join(__dirname, '../../openapi.json'), 'utf8');

    expect(JSON.stringify(committedForm(document))).toBe(JSON.stringify(JSON.parse(committed)));
    // A field may have the name, and is an object.
    expect(committed).not.toMatch(/"value": ["[\d]/);
  });

  it('is OpenAPI 3.1 with the version of the package, whose changes are documented', () => {
    const folder = join(__dirname, '../..');
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
    const changes = readFileSync(join(folder, '../../docs/integrate/conventions.md'), 'utf8');

    expect([document.openapi, document.info.version]).toEqual(['3.1.0', version]);
    expect(/^### (\d\S+)/m.exec(changes)?.[1]).toBe(version);
  });

  // The page resolves no others: docs-page/references.js.
  it('refers only to itself, and to what is there', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)].map(([, reference]) => reference!);
    const missing = references.filter((reference) => {
      const [start, ...keys] = reference.split('/');
      const named = keys.reduce<unknown>(
        (within, key) => (within as Record<string, unknown> | undefined)?.[key],
        document,
      );
      return start !== '#' || named === undefined;
    });

    expect(references.length).toBeGreaterThan(1_000);
    expect(missing).toEqual([]);
  });

  it('names the required fields of a resource first', () => {
    const late = Object.entries(document.components?.schemas ?? {}).filter(([, schema]) => {
      const { properties = {}, required = [] } = schema as { properties?: object; required?: string[] };
      const areRequired = Object.keys(properties).map((field) => required.includes(field));
      return areRequired.lastIndexOf(true) >= required.length;
    });

    expect(late.map(([name]) => name)).toEqual([]);
  });

  it('lists exactly the operations of the access matrix', () => {
    const listed = operations().map(({ operation }) => operation.operationId.replace(/Formerly$/, ''));

    expect(new Set(listed)).toEqual(new Set(Object.keys(ROWS)));
  });

  it('has each operation under the method, path and former path of the table of operations', () => {
    const routes = operations().map(({ path, method, operation }) => [
      operation.operationId,
      `${method.toUpperCase()} ${path}`,
    ]);
    const rows = Object.entries<PortOperation>(OPERATIONS).flatMap(([name, { method, path, formerPath }]) => [
      [name, `${method} ${path}`],
      ...(formerPath === undefined ? [] : [[`${name}Formerly`, `${method} ${formerPath}`]]),
    ]);

    expect(Object.fromEntries(routes)).toMatchObject(Object.fromEntries(rows) as object);
  });

  it('answers as the row of the operation says: its status, its page, its key and its body', () => {
    // The published interface answers a placed order with 200.
    const doneOf = ({ result, isDeferred }: PortOperation, name: string) =>
      isDeferred ? '202' : result === 'nothing' ? '204' : result === 'created' && name !== 'placeOrder' ? '201' : '200';
    const formOf = (row: PortOperation, name: string) => ({
      // An operation that waits for approvals is accepted.
      success: [doneOf(row, name), ...(approvable(name) ? ['202'] : [])].sort().join(),
      isPaged: PAGED_RESULTS.includes(row.result),
      hasKey: row.result === 'created',
      hasBody: row.hasBody === true,
    });
    const documented = operations().flatMap(({ operation }) => {
      const parameters = (operation.parameters ?? []).map(({ name }) => name);
      const form = {
        success: Object.keys(operation.responses)
          .filter(isSuccess)
          .filter((status) => status !== '304')
          .join(),
        isPaged: parameters.includes('cursor'),
        hasKey: parameters.includes('Idempotency-Key'),
        hasBody: operation.requestBody !== undefined,
      };
      return [[operation.operationId.replace(/Formerly$/, ''), form] as const];
    });

    const rows = Object.entries<PortOperation>(OPERATIONS).map(([name, row]) => [name, formOf(row, name)]);
    expect(Object.fromEntries(documented)).toMatchObject(Object.fromEntries(rows) as object);
  });

  it('requires Workspace-ID for the operations of a workspace, and a token for all that are not public', () => {
    for (const { operation } of operations()) {
      const access = ROWS[operation.operationId.replace(/Formerly$/, '') as OperationId].access;
      const headers = (operation.parameters ?? []).filter(({ name }) => name === 'Workspace-ID');

      expect(headers.map(({ name, required }) => ({ name, required }))).toEqual(
        needsRole(access) ? [{ name: 'Workspace-ID', required: true }] : [],
      );
      expect(operation.security ?? []).toEqual(access === 'public' ? [] : [{ bearer: [] }]);
    }
  });

  it('gives every operation a provenance, a text and an example of each refusal', () => {
    for (const { operation } of operations()) {
      expect(['stated', 'known', 'ours']).toContain(operation['x-provenance']);
      expect(operation.summary).toBeTruthy();
      expect(operation.description).toBeTruthy();
      for (const [status, response] of Object.entries(operation.responses)) {
        const { content, description } = resolved(response);
        expect(description).toBeTruthy();
        if (status === '304' || status === '204') continue;
        const examples = Object.entries(content['application/json'].examples);
        expect(examples).not.toHaveLength(0);
        if (isSuccess(status)) continue;
        for (const [name, { value }] of examples) {
          expect(value).toMatchObject({ reason: name, message: expect.any(String) });
          expect(REFUSALS).toHaveProperty(name);
          expect(String(REFUSALS[name as keyof typeof REFUSALS].status)).toBe(status);
        }
      }
    }
  });

  it('shows a recorded response for each example, one command, and values for the parameters', () => {
    for (const { operation, path } of operations()) {
      const recorded = Object.entries(successOf(operation).content?.['application/json'].examples ?? {});
      const commands = operation.description?.match(/^curl /gm) ?? [];

      expect({ path, commands: commands.length }).toEqual({ path, commands: 1 });
      for (const [name, { summary, value }] of recorded) {
        expect(summary).toBeTruthy();
        // If this is undefined, npm run examples records it and npm run openapi adds it to the document.
        expect({ path, name, value }).toEqual({ path, name, value: expect.anything() });
      }
      for (const { name, example, examples, required } of operation.parameters ?? []) {
        if (required) expect({ name, values: example ?? examples }).toEqual({ name, values: expect.anything() });
        if (examples) expect(Object.keys(examples)).toEqual(recorded.map(([recordedName]) => recordedName));
      }
    }
  });

  it('has each error response once, and an operation refers to it', () => {
    const references = operations().flatMap(({ operation: { operationId, responses } }) =>
      Object.entries(responses)
        .filter(([status]) => !isSuccess(status))
        .map(([status, response]) => ({ operationId, status, ...(response as Reference) })),
    );
    const { responses = {} } = document.components ?? {};

    expect(new Set(references.map(({ $ref }) => $ref))).toEqual(
      new Set(Object.keys(responses).map((name) => `#/components/responses/${name}`)),
    );
    expect(Object.keys(responses).filter((name) => !/^([A-Z][a-z]+)+$/.test(name))).toEqual([]);
  });

  it('names an error response after its reason, its operation or its status', () => {
    const { responses } = operations().find(({ operation }) => operation.operationId === 'placeOrder')!.operation;
    const names = Object.entries(responses).flatMap(([status, response]) =>
      '$ref' in response ? [[status, response.$ref.split('/').at(-1)]] : [],
    );

    expect(Object.fromEntries(names)).toMatchObject({
      400: 'BadRequest',
      401: 'Unauthorized',
      403: 'Forbidden',
      404: 'AccountNotFound',
      409: 'IdempotencyInProgress',
      422: 'PlaceOrderUnprocessableEntity',
      503: 'Unavailable',
      504: 'OutcomeUnknownWithKey',
    });
  });

  it('lists the reasons of an operation where operations share a response', () => {
    const shared = operations().flatMap(({ operation: { responses } }) =>
      Object.values(responses).filter(
        (response): response is Reference => '$ref' in response && /(BadRequest|Forbidden)$/.test(response.$ref),
      ),
    );
    const several = shared.filter(({ $ref }) => Object.keys(examplesIn(resolved({ $ref }))).length > 1);

    expect(several.length).toBeGreaterThan(operations().length / 2);
    for (const { $ref, description } of several) {
      const reasons = [...(description ?? '').matchAll(/`(\w+)`/g)].map(([, reason]) => reason);
      expect(reasons.length).toBeGreaterThan(1);
      expect(Object.keys(examplesIn(resolved({ $ref })))).toEqual(expect.arrayContaining(reasons));
    }
  });

  it('lists exactly the documented refusals in the table of errors, and those before any operation', () => {
    const documented = operations().flatMap(({ operation }) =>
      Object.entries(operation.responses)
        .filter(([status]) => !isSuccess(status))
        .flatMap(([, response]) => Object.keys(examplesIn(resolved(response)))),
    );
    const outside = [
      'route_not_found',
      'method_not_allowed',
      'request_timeout',
      'precondition_failed',
      'uri_too_long',
      'headers_too_large',
    ];
    const rows = [...(document.info.description ?? '').matchAll(/^\| \d{3} \| `(\w+)` \|/gm)].map(
      ([, reason]) => reason,
    );

    expect(new Set(rows)).toEqual(new Set([...documented, ...outside]));
    expect(rows).toHaveLength(new Set(rows).size);
  });

  it('responds to a creation with 201, and to an order with 200 as published', () => {
    const creating = operations().filter(({ operation }) =>
      operation.parameters?.some(({ name }) => name === 'Idempotency-Key'),
    );
    const successes = creating.map(({ operation: { operationId, responses } }) => [
      operationId,
      ...Object.keys(responses).filter((status) => Number(status) < 300),
    ]);

    expect(successes).toEqual(
      creating.map(({ operation: { operationId } }) => [
        operationId,
        operationId === 'placeOrder' ? '200' : '201',
        ...(approvable(operationId) ? ['202'] : []),
      ]),
    );
  });

  it('describes every field, with an example or a schema', () => {
    for (const [name, schema] of Object.entries(document.components?.schemas ?? {})) {
      for (const [field, property] of Object.entries((schema as Schema).properties ?? {})) {
        expect({ name, field, description: property.description }).toEqual({
          name,
          field,
          description: expect.any(String),
        });
        const isNested = property.items ?? property.$ref ?? property.properties;
        expect({ name, field, shown: property.examples !== undefined || isNested !== undefined }).toEqual({
          name,
          field,
          shown: true,
        });
      }
    }
  });

  it('lists every amount in the table of money', () => {
    const amounts = Object.entries(document.components?.schemas ?? {})
      .filter(([name]) => !/(Input|Change)$|^ExecutedTransfer$/.test(name))
      .flatMap(([name, schema]) => Object.keys((schema as Schema).properties ?? {}).map((field) => `${name}.${field}`))
      .filter((field) => /amount$|openingBalance$|closingBalance$|balanceAfter$/i.test(field));
    const rows = (document.info.description ?? '').match(/^\| `\w+\.\w+`.*$/gm) ?? [];

    expect(amounts.filter((field) => !rows.some((row) => row.includes(`\`${field}\``)))).toEqual([]);
    expect(amounts.length).toBeGreaterThan(10);
  });

  it('shows every example of a statement and of the audit trail as a table too', () => {
    const tables = operations().flatMap(({ operation }) =>
      Object.values(successOf(operation).content?.['text/csv']?.examples ?? {}),
    );

    expect(tables.length).toBeGreaterThan(0);
    for (const { summary, value } of tables)
      expect([summary, value]).toEqual([
        expect.any(String),
        expect.stringMatching(/^\ufeff(?:line,.*\r\nopening|id,createdAt,.*\r\n[0-9]+),/),
      ]);
  });

  it('announces no removal of a path', () => {
    expect(JSON.stringify(document)).not.toMatch(/deprecat|sunset/i);
  });
});

const successOf = ({ responses }: Operation) =>
  (responses['201'] ?? responses['200'] ?? responses['204'] ?? responses['202']) as Response;

const examplesIn = ({ content }: Response) => content['application/json'].examples;

interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly 'x-provenance'?: string;
  readonly security?: readonly Record<string, readonly string[]>[];
  readonly parameters?: readonly {
    readonly in: string;
    readonly name: string;
    readonly required?: boolean;
    readonly example?: unknown;
    readonly examples?: Record<string, { readonly value: unknown }>;
  }[];
  readonly requestBody?: unknown;
  readonly responses: Record<string, Response | Reference>;
}

interface Response {
  readonly description: string;
  readonly content: Record<'application/json', Examples> & { readonly 'text/csv'?: Examples };
}

interface Reference {
  readonly $ref: string;
  readonly description?: string;
}

interface Examples {
  readonly examples: Record<string, NamedExample>;
}

interface NamedExample {
  readonly summary: string;
  readonly value?: unknown;
}

interface Schema {
  readonly properties?: Record<
    string,
    { description?: string; examples?: unknown; items?: unknown; properties?: unknown; $ref?: string }
  >;
}
