import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Document } from '../documented/document.js';
import { dereferenced } from '../documented/read-document.js';

/** The OpenAPI document of the repository, which the service returns too. */
export function committedDocument(): Document {
  const text = readFileSync(resolve(__dirname, '../../../api/openapi.json'), 'utf8');
  return dereferenced(JSON.parse(text) as Readonly<Record<string, unknown>>);
}
