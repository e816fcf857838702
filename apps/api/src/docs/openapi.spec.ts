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

  it('When an operation is listed, Then it is a row of the access matrix, and every row is listed', () => {
    const listed = operations().map(({ operation }) => operation.operationId.replace(/Formerly$/, ''));

    expect(new Set(listed)).toEqual(new Set(Object.keys(ACCESS)));
  });

  it('When an operation belongs to a workspace, Then it and no other asks for Workspace-ID and a token', () => {
    for (const { operation } of operations()) {
      const access = ACCESS[operation.operationId.replace(/Formerly$/, '') as OperationId];
      const headers = (operation.parameters ?? []).filter((parameter) => parameter.in === 'header');

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
        for (const { reason } of Object.values(content?.['application/json']?.examples ?? {}).map(
          ({ value }) => value,
        )) {
          expect(REFUSALS).toHaveProperty(reason);
          expect(String(REFUSALS[reason as keyof typeof REFUSALS].status)).toBe(status);
        }
      }
    }
  });

  it('When a schema has fields, Then each says what it means, and required ones have an example or a schema', () => {
    for (const [name, schema] of Object.entries(document.components?.schemas ?? {})) {
      for (const [field, property] of Object.entries((schema as Schema).properties ?? {})) {
        expect({ name, field, description: property.description }).toEqual({
          name,
          field,
          description: expect.any(String),
        });
        const isNested = property.allOf ?? property.items ?? property.$ref;
        expect({ name, field, shown: property.example !== undefined || isNested !== undefined }).toEqual({
          name,
          field,
          shown: true,
        });
      }
    }
  });

  it('When the deprecated path is shown, Then it is marked so', () => {
    const { get } = document.paths['/countries/{country}/corridors'] as { get: Operation };

    expect(get.deprecated).toBe(true);
  });
});

interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly 'x-provenance'?: string;
  readonly security?: readonly Record<string, readonly string[]>[];
  readonly parameters?: readonly { readonly in: string; readonly name: string; readonly required?: boolean }[];
  readonly responses: Record<
    string,
    {
      readonly description: string;
      readonly content?: Record<
        string,
        { readonly examples?: Record<string, { readonly value: { readonly reason: string } }> }
      >;
    }
  >;
}

interface Schema {
  readonly properties?: Record<
    string,
    { description?: string; example?: unknown; allOf?: unknown; items?: unknown; $ref?: string }
  >;
}
