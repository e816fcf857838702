import { FORBIDDEN_CHARACTERS, hasForbiddenCharacter, type RefusalDetail } from '@banking/domain';
import { type Field, FIELDS } from './recipient-schema.js';

/** More than a person reads at once, and a bound on what an answer can grow to. */
export const FAULTS_MAX = 20;

/** So many fields are no mistake of a person, and naming each of them would keep the process busy. */
const FIELDS_SENT_MAX = 100;

/** A key we may repeat: it looks like the name of a field, not like what stands in one. */
const FIELD_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;

/**
 * What is wrong with the details of a beneficiary in every corridor; empty when nothing is. Details without such a fault are an object
 * of known fields with texts, so that a hash and JSON of them exist.
 *
 * The reasons are `type`, `field_unknown` and `format`, as `checkRecipient` gives them.
 *
 * @param data anything at all, as it came from outside
 */
export function checkBeneficiaryTexts(data: unknown): RefusalDetail[] {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    return [{ path: '/data', reason: 'type', message: 'data must be an object.' }];
  }
  const fields: [string, unknown][] = Object.entries(data);
  if (fields.length > FIELDS_SENT_MAX) return [unknownField('')];
  return fields.flatMap(([name, value]) => textFault(name, value) ?? []).slice(0, FAULTS_MAX);
}

/** A fault of a known field: the sentences follow its name. */
export function fault(field: Field, reason: string, ...sentences: string[]): RefusalDetail {
  return { path: `/data/${field}`, reason, message: `${field} ${sentences.join(' ')}` };
}

function textFault(name: string, value: unknown): RefusalDetail | undefined {
  if (!isField(name)) return unknownField(name);
  if (typeof value !== 'string') return fault(name, 'type', 'must be a text in quotes.');
  if (hasForbiddenCharacter(value)) return fault(name, 'format', `must not contain ${FORBIDDEN_CHARACTERS}.`);
  return undefined;
}

function isField(name: string): name is Field {
  return (FIELDS as readonly string[]).includes(name);
}

function unknownField(name: string): RefusalDetail {
  const path = FIELD_NAME.test(name) ? `/data/${name}` : '/data';
  return { path, reason: 'field_unknown', message: `The fields of data are ${FIELDS.join(', ')}, and no others.` };
}
