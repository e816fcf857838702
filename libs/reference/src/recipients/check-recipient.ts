import type { RefusalDetail } from '@banking/domain';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { checkBeneficiaryTexts, fault, FAULTS_MAX } from './beneficiary-texts.js';
import { CHECKS } from './check-digits.js';
import type { Format } from './format.js';
import { type Field, FIELDS, type RecipientSchema } from './recipient-schema.js';
import { variantOf } from './recipient-schemas-of.js';
import type { Variant } from './variants.js';

type Data = Readonly<Partial<Record<Field, string>>>;

interface Compiled {
  readonly validate: ValidateFunction;
  readonly variant: Variant;
}

/** Compiled when first used. The documents live as long as the process and are as many as there are variants. */
const compiled = new WeakMap<RecipientSchema, Compiled>();
const ajv = new Ajv2020({ strict: true, allErrors: true, ownProperties: true });

/**
 * What is wrong with the details of a beneficiary; empty when nothing is.
 *
 * Nothing is trimmed, capitalised or otherwise made to fit: what is accepted is what was sent. Where several documents
 * could apply, the answer is about the one that fits best. Each fault has a JSON Pointer under `/data`, a stable
 * reason, and a sentence with the rule and an example, never with anything that was typed. Reasons:
 *
 * - `required`, `field_unknown`, `type`: the fields themselves;
 * - `value`: not one of the texts the field can hold; `format`: not written as the rule says; `too_long`;
 * - `check_digits`, `national_check_digits`: of the right form, and no such number exists;
 * - `bank_mismatch`: account and routing code name two banks; `qr_iban`: a Swiss account that takes no such payment.
 *
 * @param schemas from `recipientSchemasOf`, those very objects.
 * @param data anything at all, as it came from outside.
 * @throws Error without a schema, or for a document of another origin: nothing could be checked, so it is a bug.
 */
export function checkRecipient(schemas: readonly RecipientSchema[], data: unknown): RefusalDetail[] {
  if (schemas.length === 0) throw new Error('without a schema nothing can be checked');
  const textFaults = checkBeneficiaryTexts(data);
  if (textFaults.length > 0) return textFaults;

  let best: { faults: RefusalDetail[]; distance: number } | undefined;
  for (const schema of schemas) {
    const errors = errorsOf(schema, data);
    const faults = errors.length === 0 ? checkedFaults(compiledOf(schema).variant, data as Data) : [];
    if (errors.length + faults.length === 0) return [];

    const distance = distanceOf(errors);
    if (best === undefined || distance < best.distance) {
      best = { faults: [...errors.map((error) => faultOf(error, schemas, schema)), ...faults], distance };
    }
  }
  return (best?.faults ?? []).slice(0, FAULTS_MAX);
}

function compiledOf(schema: RecipientSchema): Compiled {
  const known = compiled.get(schema);
  if (known !== undefined) return known;

  const variant = variantOf(schema);
  if (variant === undefined) throw new Error(`not a document of recipientSchemasOf: ${schema.$id}`);
  const made = { validate: ajv.compile(schema), variant };
  compiled.set(schema, made);
  return made;
}

/** What the document says against the data; one error for each field and keyword, as many as there are. */
function errorsOf(schema: RecipientSchema, data: unknown): ErrorObject[] {
  const { validate } = compiledOf(schema);
  return validate(data) ? [] : (validate.errors ?? []);
}

/** A field with one possible text tells the documents apart, so it weighs more than all the others together. */
function distanceOf(errors: readonly ErrorObject[]): number {
  const constants = errors.filter(({ keyword }) => keyword === 'const').length;
  return constants * 1_000_000 + errors.length;
}

function faultOf(error: ErrorObject, schemas: readonly RecipientSchema[], schema: RecipientSchema): RefusalDetail {
  const { keyword, params, instancePath } = error;
  if (keyword === 'required') return required(params['missingProperty'] as Field, schema);

  const field = instancePath.slice(1) as Field;
  const { description, examples, maxLength } = schema.properties[field];
  const like = `For example: ${examples[0]}`;
  switch (keyword) {
    case 'maxLength':
      return fault(field, 'too_long', `has more than ${maxLength} characters.`, description, like);
    case 'const':
      return fault(field, 'value', `must be ${oneOf(schemas, schema, field)}.`);
    case 'enum':
      return fault(field, 'value', 'is not a country of ISO 3166-1.', description, like);
    default:
      return fault(field, 'format', 'is not written as it has to be.', description, like);
  }
}

function required(field: Field, schema: RecipientSchema): RefusalDetail {
  const { description, examples } = schema.properties[field];
  return fault(field, 'required', 'is required.', description, `For example: ${examples[0]}`);
}

/** The texts that a field can hold in this document, and in those that agree with it on every other fixed text. */
function oneOf(schemas: readonly RecipientSchema[], schema: RecipientSchema, field: Field): string {
  const fixed = (of: RecipientSchema, name: Field) => of.properties[name].const;
  const kin = schemas.filter((other) =>
    FIELDS.every((name) => {
      const [here, there] = [fixed(schema, name), fixed(other, name)];
      return name === field || here === undefined || there === undefined || here === there;
    }),
  );
  return [...new Set(kin.map((other) => fixed(other, field)))].filter((text) => text !== undefined).join(' or ');
}

/** What no schema can say: check digits, and two codes that have to name the same bank. */
function checkedFaults({ account, routing }: Variant, data: Data): RefusalDetail[] {
  const { beneficiaryAccountNumber: number = '', routingCodeValue1: code = '' } = data;
  const { code: routingCode } = routing;
  const faults = [check('beneficiaryAccountNumber', account, number, code)];
  if (typeof routingCode !== 'string') faults.push(check('routingCodeValue1', routingCode, code, ''));

  const isClabeBank = account.check === 'clabe' && routing.type === 'BANK CODE';
  if (isClabeBank && !number.startsWith(code)) {
    faults.push(
      fault(
        'routingCodeValue1',
        'bank_mismatch',
        'names another bank than the CLABE, whose first three digits it repeats.',
      ),
    );
  }
  return faults.filter((found) => found !== undefined);
}

function check(field: Field, format: Format, text: string, routingCode: string): RefusalDetail | undefined {
  const found = format.check && CHECKS[format.check](text, routingCode);
  return found && fault(field, found.reason, found.message, `For example: ${format.example}`);
}
