import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenAPIObject } from '@nestjs/swagger';
import { REFUSALS } from '@banking/domain';
import { ACCESS, isRole, type OperationId } from '../access/matrix.js';
import { offlineDocument } from './offline-document.js';

describe('Given the OpenAPI document', () => {
  let document: OpenAPIObject;
  beforeAll(async () => {
    document = await offlineDocument();
  });

  const operations = () =>
    Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item as Record<string, Operation>).map(([method, operation]) => ({ path, method, operation })),
    );

  it('When the routes change, Then the committed file changes with them: npm run openapi writes it', () => {
    const committed = readFileSync(join(__dirname, '../../openapi.json'), 'utf8');

    expect(`${JSON.stringify(document, null, 2)}\n`).toBe(committed);
  });

  it('When it is read, Then it is OpenAPI 3.1 in the version of the package, and the changes of that version are written down', () => {
    const folder = join(__dirname, '../..');
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
    const changes = readFileSync(join(folder, '../../docs/interface-changes.md'), 'utf8');

    expect([document.openapi, document.info.version]).toEqual(['3.1.0', version]);
    expect(/^## (\S+)/m.exec(changes)?.[1]).toBe(version);
  });

  it('When an operation is listed, Then it is a row of the access matrix, and every row is listed', () => {
    const listed = operations().map(({ operation }) => operation.operationId.replace(/Formerly$/, ''));

    expect(new Set(listed)).toEqual(new Set(Object.keys(ACCESS)));
  });

  it('When an operation belongs to a workspace, Then it and no other asks for Workspace-ID and a token', () => {
    for (const { operation } of operations()) {
      const access = ACCESS[operation.operationId.replace(/Formerly$/, '') as OperationId];
      const headers = (operation.parameters ?? []).filter(({ name }) => name === 'Workspace-ID');

      expect(headers.map(({ name, required }) => ({ name, required }))).toEqual(
        isRole(access) ? [{ name: 'Workspace-ID', required: true }] : [],
      );
      expect(operation.security ?? []).toEqual(access === 'public' ? [] : [{ bearer: [] }]);
    }
  });

  it('When an operation is documented, Then it has a provenance, words for people and an answer for each of its refusals', () => {
    for (const { operation } of operations()) {
      expect(['stated', 'known', 'ours']).toContain(operation['x-provenance']);
      expect(operation.summary).toBeTruthy();
      expect(operation.description).toBeTruthy();
      for (const [status, { content, description }] of Object.entries(operation.responses)) {
        expect(description).toBeTruthy();
        if (status === '304' || status === '204') continue;
        const examples = Object.entries(content['application/json'].examples);
        expect(examples).not.toHaveLength(0);
        if (status === '200' || status === '201') continue;
        for (const [name, { value }] of examples) {
          expect(value).toMatchObject({ reason: name, message: expect.any(String) });
          expect(REFUSALS).toHaveProperty(name);
          expect(String(REFUSALS[name as keyof typeof REFUSALS].status)).toBe(status);
        }
      }
    }
  });

  it('When an operation declares examples, Then each is recorded, the first can be copied, and all fill in the parameters', () => {
    for (const { operation, path } of operations()) {
      const recorded = Object.entries(successOf(operation).content?.['application/json'].examples ?? {});
      const commands = operation.description?.match(/^curl /gm) ?? [];

      expect({ path, commands: commands.length }).toEqual({ path, commands: 1 });
      for (const [name, { summary, value }] of recorded) {
        expect(summary).toBeTruthy();
        // Where this is undefined, npm run examples records it and npm run openapi brings it here.
        expect({ path, name, value }).toEqual({ path, name, value: expect.anything() });
      }
      for (const { name, example, examples, required } of operation.parameters ?? []) {
        if (required) expect({ name, values: example ?? examples }).toEqual({ name, values: expect.anything() });
        if (examples) expect(Object.keys(examples)).toEqual(recorded.map(([recordedName]) => recordedName));
      }
    }
  });

  it('When an operation refuses, Then the table of the introduction has a row for it, and for what comes before any operation', () => {
    const documented = operations().flatMap(({ operation }) =>
      Object.entries(operation.responses)
        .filter(([status]) => Number(status) >= 400)
        .flatMap(([, { content }]) => Object.keys(content['application/json'].examples)),
    );
    const outside = ['route_not_found', 'method_not_allowed', 'request_timeout', 'precondition_failed', 'uri_too_long', 'headers_too_large']; // prettier-ignore
    const rows = [...(document.info.description ?? '').matchAll(/^\| \d{3} \| `(\w+)` \|/gm)].map(
      ([, reason]) => reason,
    );

    expect(new Set(rows)).toEqual(new Set([...documented, ...outside]));
    expect(rows).toHaveLength(new Set(rows).size);
  });

  it('When an operation creates something, Then it answers 201, but an order 200 as published', () => {
    const creating = operations().filter(({ operation }) => operation.parameters?.some(({ name }) => name === 'Idempotency-Key')); // prettier-ignore
    const successes = creating.map(({ operation: { operationId, responses } }) => [operationId, ...Object.keys(responses).filter((status) => Number(status) < 300)]); // prettier-ignore

    expect(successes).toEqual(creating.map(({ operation: { operationId } }) => [operationId, operationId === 'placeOrder' ? '200' : '201'])); // prettier-ignore
  });

  it('When a schema has fields, Then each says what it means, and required ones have an example or a schema', () => {
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

  it('When a record holds an amount, Then the table of money of the introduction says whose unit it counts', () => {
    const amounts = Object.entries(document.components?.schemas ?? {})
      .filter(([name]) => !/(Wish|Change)$|^ExecutedTransfer$/.test(name))
      .flatMap(([name, schema]) => Object.keys((schema as Schema).properties ?? {}).map((field) => `${name}.${field}`))
      .filter((field) => /amount$|openingBalance$|closingBalance$|balanceAfter$/i.test(field));
    const rows = (document.info.description ?? '').match(/^\| `\w+\.\w+`.*$/gm) ?? [];

    expect(amounts.filter((field) => !rows.some((row) => row.includes(`\`${field}\``)))).toEqual([]);
    expect(amounts.length).toBeGreaterThan(10);
  });

  it('When an answer can be a table, Then each of its examples is one', () => {
    const tables = operations().flatMap(({ operation }) => Object.values(successOf(operation).content?.['text/csv']?.examples ?? {})); // prettier-ignore

    expect(tables.length).toBeGreaterThan(0);
    for (const { summary, value } of tables) expect([summary, value]).toEqual([expect.any(String), expect.stringMatching(/^\ufeffline,.*\r\nopening,/)]); // prettier-ignore
  });

  it('When the deprecated path is shown, Then it is marked so', () => {
    const { get } = document.paths['/countries/{country}/corridors'] as unknown as { get: Operation };

    expect(get.deprecated).toBe(true);
  });
});

const successOf = ({ responses }: Operation) => (responses['201'] ?? responses['204'] ?? responses['200'])!;

interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly 'x-provenance'?: string;
  readonly security?: readonly Record<string, readonly string[]>[];
  readonly parameters?: readonly {
    readonly in: string;
    readonly name: string;
    readonly required?: boolean;
    readonly example?: unknown;
    readonly examples?: Record<string, { readonly value: unknown }>;
  }[];
  readonly responses: Record<
    string,
    {
      readonly description: string;
      readonly content: Record<'application/json', Examples> & { readonly 'text/csv'?: Examples };
    }
  >;
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
