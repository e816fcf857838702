import type { Ajv2020, ErrorObject } from 'ajv/dist/2020.js';
import type { Document, LineCounter } from 'yaml';
import { ConfigError } from './environment-reader.js';

/** The way to a value of a document: names of members and indexes of elements. */
type DocumentPath = readonly (string | number)[];

/** Reports a mistake of the value at a path, with the change to make. It must not repeat the value. */
export type ReportMistake = (path: DocumentPath, message: string) => void;

/* eslint-disable @typescript-eslint/no-require-imports -- loading their 310 modules takes a fifth of the start of a command, and most processes read no document */
const yaml = () => require('yaml') as typeof import('yaml');
const ajv = () => require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js');
/* eslint-enable @typescript-eslint/no-require-imports */

/** Larger documents are refused before they are parsed. */
const LENGTH_MAX = 4 * 1024 * 1024;

/** How often a document may repeat a node by its alias: more than people write, and too little to exhaust memory. */
const ALIASES_MAX = 1_000;

/**
 * Reads a YAML 1.2 document, and so JSON, that has to agree with a JSON Schema 2020-12. Tags of its own are refused; a member given twice
 * is a mistake.
 *
 * @param name how messages call the document
 * @param check reports what no schema can express, of a value that agrees with the schema
 * @throws ConfigError with all mistakes, which name lines and fields and repeat no value
 */
export function readYamlDocument<Value>(
  name: string,
  text: string,
  schema: object,
  check: (value: Value, report: ReportMistake) => void = () => undefined,
): Value {
  if (text.length > LENGTH_MAX) {
    const limit = `${LENGTH_MAX / 1024 / 1024} MB`;
    throw new ConfigError([`The document has more than ${limit}. Remove what it does not need.`], name);
  }
  const { LineCounter, parseDocument } = yaml();
  const lines = new LineCounter();
  const options = { version: '1.2', schema: 'core', resolveKnownTags: false, prettyErrors: false } as const;
  const document = parseDocument(text, { ...options, lineCounter: lines });
  const mistakes: { readonly line: number; readonly text: string }[] = [];
  const add = (line: number, field: string, message: string) =>
    mistakes.push({ line, text: `line ${line}${field === '' ? '' : `, ${field}`}: ${message}` });
  const report: ReportMistake = (path, message) => add(lineAt(document, lines, path), fieldOf(path), message);
  const end = () => {
    const inOrder = mistakes.sort((one, other) => one.line - other.line);
    if (inOrder.length > 0)
      throw new ConfigError(
        inOrder.map((mistake) => mistake.text),
        name,
      );
  };

  const faults = [...document.errors, ...document.warnings];
  // The parser reports an exhausted stack as a fault at each level.
  if (faults.some(({ message }) => message.includes('call stack'))) {
    throw new ConfigError(['The document is nested too deeply. Remove brackets or dashes.'], name);
  }
  for (const { pos, message } of faults) {
    add(lines.linePos(pos[0]).line, '', `This is not YAML: ${withoutValues(message)}.`);
  }
  end();
  const value = valueOf(document, report) as Value;
  end();
  const validate = compiled(schema);
  if (!validate(value)) for (const [path, message] of mistakesOf(validate.errors ?? [])) report(path, message);
  end();
  check(value, report);
  end();
  return value;
}

/** Messages of the parser end with the text at fault. */
const withoutValues = (message: string) => message.replace(/[:.]?\s*(?:at line|["'`]).*$/s, '').trim();

function valueOf(document: Document, report: ReportMistake): unknown {
  try {
    return document.toJS({ maxAliasCount: ALIASES_MAX });
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    report([], `An alias names no anchor, or there are more than ${ALIASES_MAX} aliases. Write the values out.`);
    return undefined;
  }
}

let schemas: Ajv2020 | undefined;

function compiled(schema: object) {
  schemas ??= new (ajv().Ajv2020)({ allErrors: true, strict: true, verbose: true });
  return schemas.compile(schema);
}

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
  const { isMap, isNode, isScalar } = yaml();
  for (let length = path.length; length > 0; length -= 1) {
    const parent = length === 1 ? document.contents : document.getIn(path.slice(0, length - 1), true);
    const last = path[length - 1];
    const name = isMap(parent) ? parent.items.find(({ key }) => isScalar(key) && key.value === last)?.key : undefined;
    const node = name ?? document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return 1;
}

/** The document of a value, with a line for each record of a list. */
export function writeYamlDocument(value: object): string {
  const { Document, visit } = yaml();
  const document = new Document(value);
  visit(document, {
    Map: (_, node, path) => {
      if (path.length > 3) node.flow = true;
    },
  });
  return document.toString({ lineWidth: 0 });
}
