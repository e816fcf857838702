import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Document } from '../documented/document.js';

/** The OpenAPI document of the repository, which the service returns too. */
export function committedDocument(): Document {
  return JSON.parse(readFileSync(resolve(__dirname, '../../../api/openapi.json'), 'utf8')) as Document;
}
