import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Document, DocumentedOperation, DocumentedResponse } from './document.js';

type Named<T> = Readonly<Record<string, T>>;

/** A document with references from operations to the responses that they share. */
interface Written extends Omit<Document, 'paths' | 'components'> {
  readonly paths: Named<Named<Omit<DocumentedOperation, 'responses'> & References>>;
  readonly components: Document['components'] & { readonly responses: Named<DocumentedResponse> };
}
interface References {
  readonly responses: Named<DocumentedResponse | { readonly $ref: string; readonly description?: string }>;
}

export const API = resolve(__dirname, '../../../api');

/** Written by hand, except the responses, which `npm run examples` records. */
export const EXAMPLES = join(API, 'examples.json');

/** The examples of each operation. */
export const readExamples = () =>
  JSON.parse(readFileSync(EXAMPLES, 'utf8')) as Named<
    readonly { readonly name: string; readonly body?: unknown; readonly response?: unknown }[]
  >;

/** The OpenAPI document of a running service. */
export async function fetchDocument({ url }: { readonly url: string }): Promise<Document> {
  return dereferenced((await (await fetch(`${url}/openapi.json`)).json()) as Written);
}

/** The OpenAPI document as the service serves it in a sandbox, without a service. */
export const offlineDocument = (): Document => dereferenced(JSON.parse(offlineText()) as Written);

/** The same as JSON, as it is served. */
export function offlineText(): string {
  const print = `require('./dist/docs/offline-document.js').offlineDocument().then((one) => console.log(JSON.stringify(one)))`;
  return execFileSync(process.execPath, ['-e', print], { cwd: API, encoding: 'utf8', maxBuffer: 2 ** 24 });
}

/** Puts the shared responses in place of the references of operations. References to schemas and headers stay. */
function dereferenced(document: Written): Document {
  const { responses } = document.components;
  const paths = mapped(document.paths, (item) =>
    mapped(item, (operation) => ({
      ...operation,
      responses: mapped(operation.responses, (one) => {
        if (!('$ref' in one)) return one;
        // A description beside a reference replaces that of its target.
        const { $ref, ...own } = one;
        const target = responses[$ref.split('/').at(-1) ?? ''];
        if (target === undefined) throw new Error(`the document has no ${$ref}`);
        return { ...target, ...own };
      }),
    })),
  );
  return { ...document, paths };
}

function mapped<T, R>(object: Named<T>, change: (value: T) => R): Named<R> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));
}
