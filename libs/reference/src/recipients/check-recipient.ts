import type { RefusalDetail } from '@banking/domain';
import type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import {
  checkBeneficiaryTexts,
  fault,
  FAULTS_MAX,
  type Field,
  FIELDS,
  type BeneficiarySchema,
  variantOf,
  type Variant,
} from './recipient-schema.js';
import { CHECKS } from './accounts.js';
import type { Format } from './format.js';

type Data = Readonly<Partial<Record<Field, string>>>;

interface Compiled {
  readonly validate: ValidateFunction;
  readonly variant: Variant;
}

/** Compiled at first use, one for each variant. */
const compiled = new WeakMap<BeneficiarySchema, Compiled>();
let ajv: Ajv2020 | undefined;

function ajvOfRecipients(): Ajv2020 {
  if (ajv === undefined) {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- loading 170 modules takes 50 ms, and most processes check no recipient
    const { Ajv2020 } = require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js');
    ajv = new Ajv2020({ strict: true, allErrors: true, ownProperties: true });
  }
  return ajv;
}

/**
 * The faults of beneficiary details; empty if there are none.
 *
 * The check does not trim, capitalise or otherwise change a value. With several schemas, the faults refer to the schema that
 * fits best. Each fault has a JSON Pointer under `/data`, a stable reason, and a sentence with the rule and an example. It
 * never repeats a value. Reasons:
 *
 * - `required`, `field_unknown`, `type`: a field is missing, also beside another one that needs it, unknown or not a text;
 * - `value`: not one of the allowed texts; `format`: against the rule of the format; `too_long`;
 * - `check_digits`, `national_check_digits`: well-formed, but no such number exists;
 * - `bank_mismatch`: account and routing code name two banks; `qr_iban`: a Swiss account that accepts no such payment.
 *
 * @param schemas the objects of `recipientSchemasOf`
 * @param data untrusted input of any type
 * @throws Error without a schema, or for a schema of another origin
 */
export function checkRecipient(schemas: readonly BeneficiarySchema[], data: unknown): RefusalDetail[] {
  if (schemas.length === 0) throw new Error('no schema to check against');
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

function compiledOf(schema: BeneficiarySchema): Compiled {
  const known = compiled.get(schema);
  if (known !== undefined) return known;

  const variant = variantOf(schema);
  if (variant === undefined) throw new Error(`not a document of recipientSchemasOf: ${schema.$id}`);
  const entry = { validate: ajvOfRecipients().compile(schema), variant };
  compiled.set(schema, entry);
  return entry;
}

/** The errors of a schema: one for each field and keyword. */
function errorsOf(schema: BeneficiarySchema, data: unknown): ErrorObject[] {
  const { validate } = compiledOf(schema);
  return validate(data) ? [] : (validate.errors ?? []);
}

/** A field with one allowed text identifies the schema, so its error outweighs all others together. */
function distanceOf(errors: readonly ErrorObject[]): number {
  const constants = errors.filter(({ keyword }) => keyword === 'const').length;
  return constants * 1_000_000 + errors.length;
}

function faultOf(error: ErrorObject, schemas: readonly BeneficiarySchema[], schema: BeneficiarySchema): RefusalDetail {
  const { keyword, params, instancePath } = error;
  if (keyword === 'required') return required(params['missingProperty'] as Field, schema);
  if (keyword === 'dependentRequired') {
    return required(params['missingProperty'] as Field, schema, `is required with ${params['property']}.`);
  }

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
      return fault(field, 'format', 'does not have the required format.', description, like);
  }
}

function required(field: Field, schema: BeneficiarySchema, rule = 'is required.'): RefusalDetail {
  const { description, examples } = schema.properties[field];
  return fault(field, 'required', rule, description, `For example: ${examples[0]}`);
}

/** The texts of a field in this schema, and in those that agree with it in every other fixed text. */
function oneOf(schemas: readonly BeneficiarySchema[], schema: BeneficiarySchema, field: Field): string {
  const fixed = (of: BeneficiarySchema, name: Field) => of.properties[name].const;
  const related = schemas.filter((other) =>
    FIELDS.every((name) => {
      const [here, there] = [fixed(schema, name), fixed(other, name)];
      return name === field || here === undefined || there === undefined || here === there;
    }),
  );
  return [...new Set(related.map((other) => fixed(other, field)))].filter((text) => text !== undefined).join(' or ');
}

/** The rules that a schema cannot express: check digits, and two codes that must name the same bank. */
function checkedFaults({ account, routing }: Variant, data: Data): RefusalDetail[] {
  const { beneficiaryAccountNumber: number = '', routingCodeValue1: code = '' } = data;
  const { code: routingCode } = routing;
  const faults = [check('beneficiaryAccountNumber', account, number, code)];
  if (typeof routingCode !== 'string') faults.push(check('routingCodeValue1', routingCode, code, ''));

  const isBankOfClabe = account.check === 'clabe' && routing.type === 'BANK CODE';
  if (isBankOfClabe && !number.startsWith(code)) {
    faults.push(
      fault(
        'routingCodeValue1',
        'bank_mismatch',
        'names another bank than the CLABE, whose first three digits it repeats.',
      ),
    );
  }
  return faults.filter((each) => each !== undefined);
}

function check(field: Field, format: Format, text: string, routingCode: string): RefusalDetail | undefined {
  const failed = format.check && CHECKS[format.check](text, routingCode);
  return failed && fault(field, failed.reason, failed.message, `For example: ${format.example}`);
}
