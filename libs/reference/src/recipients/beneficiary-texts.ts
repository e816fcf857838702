import { FORBIDDEN_CHARACTERS, hasForbiddenCharacter, type RefusalDetail } from '@banking/domain';
import { type Field, FIELDS } from './recipient-schema.js';

/** The maximum number of faults in a response. */
export const FAULTS_MAX = 20;

/** Above this number of fields, the faults are not listed, because listing them would block the process. */
const FIELDS_SENT_MAX = 100;

/** A key that a message may repeat: it looks like the name of a field, not like a value. */
const FIELD_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;

/**
 * The faults of beneficiary details that apply to every corridor; empty if there are none. Details without such a fault are an
 * object of known fields with texts, so that their hash and their JSON exist.
 *
 * The reasons are `type`, `field_unknown` and `format`, as in `checkRecipient`.
 *
 * @param data untrusted input of any type
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
