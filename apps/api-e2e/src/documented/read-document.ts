import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  type Document,
  type DocumentedOperation,
  type DocumentedParameter,
  type DocumentedResponse,
  successOf,
} from './document.js';

export type Named<T> = Readonly<Record<string, T>>;

/** A document with references from operations to the parameters and responses that they share. */
interface Written extends Omit<Document, 'paths' | 'components'> {
  readonly paths: Named<Named<Omit<DocumentedOperation, 'parameters' | 'responses'> & References>>;
  readonly components: Document['components'] & {
    readonly parameters?: Named<DocumentedParameter>;
    readonly responses?: Named<DocumentedResponse>;
  };
}
interface References {
  readonly parameters: readonly (DocumentedParameter | Reference)[];
  readonly responses: Named<DocumentedResponse | Reference>;
}
interface Reference {
  readonly $ref: string;
  readonly description?: string;
}

/** An example of the file `apps/api/examples.json`. */
export interface RecordedExample {
  readonly name: string;
  readonly summary: string;
  readonly values?: Named<string | number | boolean>;
  readonly body?: unknown;
  readonly response?: unknown;
}

/** Written by hand, except the responses, which `npm run examples` records. */
export const EXAMPLES = resolve(__dirname, '../../../api/examples.json');

export const readExamples = () => readJson(EXAMPLES) as Named<readonly RecordedExample[]>;

const readJson = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as unknown;

/** The OpenAPI document of a running service. */
export async function fetchDocument({ url }: { readonly url: string }): Promise<Document> {
  return dereferenced((await (await fetch(`${url}/openapi.json`)).json()) as Written);
}

/** The OpenAPI document of the repository with its examples, which the service returns too. */
export function committedDocument(): Document {
  const document = dereferenced(readJson(resolve(EXAMPLES, '../openapi.json')) as Written);
  const examples = readExamples();
  const paths = mapped(document.paths, (item) =>
    mapped(item, (operation) =>
      withExamples(operation, examples[operation.operationId.replace(/Formerly$/, '')] ?? []),
    ),
  );
  return { ...document, paths };
}

/** Adds the examples where the service adds them. */
function withExamples(operation: DocumentedOperation, all: readonly RecordedExample[]): DocumentedOperation {
  const shown = (read: (example: RecordedExample) => unknown) =>
    Object.fromEntries(all.map((one) => [one.name, { summary: one.summary, value: read(one) }]));
  const withJson = <T extends { readonly content?: object }>(part: T, examples: object): T => {
    const { 'application/json': json } = (part.content ?? {}) as { 'application/json'?: object };
    return json === undefined ? part : { ...part, content: { 'application/json': { ...json, examples } } };
  };
  const success = String(successOf({ operation }));
  const { parameters, requestBody, responses } = operation;
  return {
    ...operation,
    parameters: parameters.map((parameter) => {
      const isGiven = all.some(({ values }) => values?.[parameter.name] !== undefined);
      const examples = shown(({ values }) => values?.[parameter.name]);
      return isGiven ? ({ ...parameter, examples } as DocumentedParameter) : parameter;
    }),
    ...(requestBody && {
      requestBody: withJson(
        requestBody,
        shown(({ body }) => body),
      ),
    }),
    responses: {
      ...responses,
      [success]: withJson(
        responses[success]!,
        shown(({ response }) => response),
      ),
    },
  };
}

/** Puts the shared parameters and responses in place of the references of operations. References to schemas and headers stay. */
function dereferenced(document: Written): Document {
  const { parameters = {}, responses = {} } = document.components;
  const paths = mapped(document.paths, (item) =>
    mapped(item, (operation) => ({
      ...operation,
      parameters: operation.parameters.map((one) => resolved(one, parameters)),
      responses: mapped(operation.responses, (one) => resolved(one, responses)),
    })),
  );
  return { ...document, paths };
}

/** A description beside a reference replaces that of its target. */
function resolved<T extends object>(one: T | Reference, shared: Named<T>): T {
  if (!('$ref' in one)) return one;
  const { $ref, ...own } = one;
  const target = shared[$ref.split('/').at(-1) ?? ''];
  if (target === undefined) throw new Error(`the document has no ${$ref}`);
  return { ...target, ...own };
}

function mapped<T, R>(object: Named<T>, change: (value: T) => R): Named<R> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));
}
