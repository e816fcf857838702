import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { isMap, isNode, isScalar, LineCounter, parseDocument, type Document } from 'yaml';

/** The way to a value of a document: names of members and indexes of elements. */
export type DocumentPath = readonly (string | number)[];

/** A mistake in a document, with the change to make. */
export interface DocumentMistake {
  /** From 1. */
  readonly line: number;
  /** Such as `corridors[3].fee.minimum`; empty for the document as a whole. */
  readonly field: string;
  readonly message: string;
}

/** All mistakes of a document. The messages name lines and fields, and repeat no value. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError';

  /** @param document how messages call the document, such as `REFERENCE_FILE` or the name of a file */
  constructor(
    readonly document: string,
    readonly mistakes: readonly DocumentMistake[],
  ) {
    const shown = mistakes.slice(0, SHOWN_MAX).map(written);
    const more = mistakes.length - shown.length;
    const count = mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`;
    super([`${document} has ${count}:`, ...shown, ...(more > 0 ? [`  - and ${more} more`] : [])].join('\n'));
  }
}

const written = ({ line, field, message }: DocumentMistake) =>
  `  - line ${line}${field === '' ? '' : `, ${field}`}: ${message}`;

/** A document that agrees with its schema. */
export interface ReadDocument<Value> {
  readonly value: Value;
  /** A mistake of the value at a path, or of the nearest value around it. */
  mistakeAt(path: DocumentPath, message: string): DocumentMistake;
}

const SHOWN_MAX = 20;

/** Larger documents are refused before they are parsed. */
const LENGTH_MAX = 4 * 1024 * 1024;

/** How often a document may repeat a node by its alias: more than people write, and too little to exhaust memory. */
const ALIASES_MAX = 1_000;

/**
 * Reads a YAML 1.2 document, and so JSON, that has to agree with a JSON Schema 2020-12. Tags of its own are refused; a member given twice
 * is a mistake.
 *
 * @param name how messages call the document
 * @throws DocumentError with all mistakes
 */
export function readYamlDocument<Value>(name: string, text: string, schema: object): ReadDocument<Value> {
  if (text.length > LENGTH_MAX) {
    const message = `The document has more than ${LENGTH_MAX / 1024 / 1024} MB. Split it, or remove what it does not need.`;
    throw new DocumentError(name, [{ line: 1, field: '', message }]);
  }
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    version: '1.2',
    schema: 'core',
    resolveKnownTags: false,
    prettyErrors: false,
  });
  const faults = [...document.errors, ...document.warnings];
  if (faults.length > 0) {
    throw new DocumentError(
      name,
      faults.map(({ pos, message }) => ({
        line: lines.linePos(pos[0]).line,
        field: '',
        message: `This is not YAML: ${withoutValues(message)}.`,
      })),
    );
  }
  const value = valueOf<Value>(name, document);
  const mistakeAt = (path: DocumentPath, message: string) => ({
    line: lineAt(document, lines, path),
    field: fieldOf(path),
    message,
  });
  const validate = compiled(schema);
  if (validate(value)) return { value, mistakeAt };
  throw new DocumentError(
    name,
    mistakesOf(validate.errors ?? []).map(([path, message]) => mistakeAt(path, message)),
  );
}

/** Messages of the parser end with the text at fault. */
const withoutValues = (message: string) => message.replace(/[:.]?\s*(?:at line|["'`]).*$/s, '').trim();

function valueOf<Value>(name: string, document: Document): Value {
  try {
    return document.toJS({ maxAliasCount: ALIASES_MAX }) as Value;
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    const message = `An alias names no anchor, or there are more than ${ALIASES_MAX} aliases. Write the values out.`;
    throw new DocumentError(name, [{ line: 1, field: '', message }]);
  }
}

const ajv = new Ajv2020({ allErrors: true, strict: true, verbose: true });

const compiled = (schema: object) => ajv.compile(schema);

/** The mistakes with their paths. An `if` reports those of its branch as well. */
function mistakesOf(errors: readonly ErrorObject[]): (readonly [DocumentPath, string])[] {
  return errors
    .filter(({ keyword }) => keyword !== 'if')
    .map((error) => {
      const path = pathOf(error.instancePath);
      const named = error.keyword === 'additionalProperties' ? [String(error.params['additionalProperty'])] : [];
      return [[...path, ...named], messageOf(error)] as const;
    });
}

/** The form of a text is described in the schema, beside its pattern. */
function messageOf({ keyword, params, parentSchema, message = '' }: ErrorObject): string {
  const rule = (parentSchema as { readonly description?: string } | undefined)?.description;
  switch (keyword) {
    case 'required':
      return `The member ${String(params['missingProperty'])} is missing. Add it.`;
    case 'additionalProperties':
      return 'There is no such member. Remove it, or correct its name.';
    case 'enum':
      return `Write one of: ${(params['allowedValues'] as readonly unknown[]).join(', ')}.`;
    case 'type':
      return `Write ${TYPES[String(params['type'])] ?? String(params['type'])}.`;
    case 'pattern':
      return rule === undefined ? 'The text has another form.' : `Write it as described: ${rule}`;
    default:
      return `It ${message}.`;
  }
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a text; in quotes if it consists of digits',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'members with a name and a value',
};

/** @param pointer RFC 6901 */
function pathOf(pointer: string): (string | number)[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

const fieldOf = (path: DocumentPath): string =>
  path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`))
    .join('')
    .replace(/^\./, '');

/** The line of the value, of its name, or of the nearest value around it. */
function lineAt(document: Document, lines: LineCounter, path: DocumentPath): number {
  for (let length = path.length; length > 0; length -= 1) {
    const parent = length === 1 ? document.contents : document.getIn(path.slice(0, length - 1), true);
    const last = path[length - 1];
    const name = isMap(parent) ? parent.items.find(({ key }) => isScalar(key) && key.value === last)?.key : undefined;
    const node = name ?? document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return 1;
}
