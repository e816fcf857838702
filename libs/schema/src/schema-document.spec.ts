import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { freshDatabase, type FreshDatabase } from '@banking/postgres/testing';
import { schemaDocument } from './testing/schema-document.js';

const FILE = resolve(__dirname, '../../../docs/schema.md');

let world: FreshDatabase;
beforeAll(async () => {
  world = await freshDatabase();
});
afterAll(() => world.close());

it('docs/schema.md shows the database as the migrations make it', async () => {
  const document = await schemaDocument(world.owner);

  // `npm run schema` sets it.
  if (process.env['BANKING_SCHEMA_DOCUMENT'] === 'write') writeFileSync(FILE, document);
  expect(readFileSync(FILE, 'utf8')).toBe(document);
});
