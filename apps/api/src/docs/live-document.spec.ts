import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { offlineDocument } from './offline-document.js';
import type { Example, FieldExamples } from './examples.js';
import { LIVE_EXAMPLES } from './live-examples.js';

const RECORDED = JSON.parse(readFileSync(join(__dirname, '..', '..', 'examples.json'), 'utf8')) as Readonly<
  Record<string, readonly Example[]>
>;

/** What only a sandbox has. */
const OF_A_SANDBOX = /\bdemo|sandbox|npm run|\b(ada|bob|cy|eve)\b|northwind|southwind|T\+\d \(/i;

/** Fields in which the demo data has texts of its own. */
const OWN_TEXTS =
  /^(name|alias|email|description|reference|externalReference|recipientName|accountCode|url|beneficiary\w+)$/;
/** Responses of reference data only, which is the same in every deployment. */
const REFERENCE = ['listProducts', 'listRecipientSchemas', 'listCorridors', 'listPurposes'];
/** The same inside of other responses. */
const REFERENCE_RECORDS = /(^|[cC])urrency$|^(product|bank)$/;

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const responsesOf = (operation: string): unknown[] => RECORDED[operation]?.map(({ response }) => response) ?? [];

/** The texts that the demo data has of its own, from the recorded responses. */
function demoTexts(): Set<string> {
  const ofReference = new Set(textsOf(REFERENCE.map(responsesOf)).map(([, text]) => text));
  const texts = new Set<string>();
  const collect = (value: unknown): void => {
    if (!isObject(value)) return;
    for (const [field, inner] of Object.entries(value)) {
      if (REFERENCE_RECORDS.test(field)) continue;
      if (!OWN_TEXTS.test(field) || typeof inner !== 'string') collect(inner);
      // Shorter ones, such as the code of a country, can be anywhere.
      else if (inner.length > 3 && !ofReference.has(inner)) texts.add(inner);
    }
  };
  for (const operation of Object.keys(RECORDED)) if (!REFERENCE.includes(operation)) collect(responsesOf(operation));
  return texts;
}

/** All texts of a part of the document, with the path of each. */
function textsOf(part: unknown, path = ''): (readonly [string, string])[] {
  if (!isObject(part)) return [[path, String(part)]];
  return Object.entries(part).flatMap(([name, inner]) => [[path, name] as const, ...textsOf(inner, `${path}/${name}`)]);
}

interface Operation {
  readonly operationId: string;
  readonly description: string;
  readonly parameters: readonly Json[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly examples?: object } } };
}

describe('the document of a live deployment', () => {
  let document: Awaited<ReturnType<typeof offlineDocument>>;
  let operations: readonly Operation[];

  beforeAll(async () => {
    document = await offlineDocument({ sandbox: false });
    operations = Object.values(document.paths).flatMap((item) => Object.values(item as Record<string, Operation>));
  });

  it('has no word of a sandbox, in no text', () => {
    const texts = textsOf(document);

    expect(texts.length).toBeGreaterThan(5_000);
    expect(texts.filter(([, text]) => OF_A_SANDBOX.test(text))).toEqual([]);
  });

  it('has no text of the demo data as an example', () => {
    const texts = demoTexts();
    const examples = textsOf(document).filter(([path]) => /\/examples?\b/.test(path));

    expect(texts.size).toBeGreaterThan(30);
    expect(examples.filter(([, text]) => texts.has(text))).toEqual([]);
  });

  it('fills in no ids of paths and headers, and shows variables in a command for each operation', () => {
    for (const { operationId, description, parameters } of operations) {
      const command = /^curl [^]*?(?=\n```)/m.exec(description)?.[0] ?? '';
      const required = parameters.filter((parameter) => parameter['required'] === true);

      expect(parameters.filter((parameter) => 'example' in parameter || 'examples' in parameter)).toEqual([]);
      expect([operationId, command.match(/\$(?!BASE_URL|TOKEN)[A-Z_]+/g)?.length ?? 0]).toEqual([
        operationId,
        required.length,
      ]);
      expect(command).not.toContain('undefined');
    }
  });

  it('has an example of each body', () => {
    const without = operations.filter(
      ({ requestBody }) => requestBody && !requestBody.content['application/json'].examples,
    );

    expect(without.map(({ operationId }) => operationId)).toEqual([]);
  });

  it('gives examples to fields that exist', () => {
    const schemas = document.components?.schemas as Readonly<Record<string, Schema>>;
    const missing = ({ properties = {} }: Schema, examples: FieldExamples): string[] =>
      Object.entries(examples).flatMap(([field, example]) => {
        const property = properties[field];
        if (property === undefined) return [field];
        return typeof example === 'string' ? [] : missing(property, example);
      });

    for (const [name, examples] of Object.entries(LIVE_EXAMPLES.fields)) {
      expect([name, missing(schemas[name] ?? {}, examples)]).toEqual([name, []]);
    }
  });
});

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
}
