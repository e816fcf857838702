import { Refusal, type BeneficiaryData, type CorridorQuery, type RefusalDetail } from '@banking/domain';
import { checkBeneficiaryTexts, checkRecipient, recipientSchemasOf } from '@banking/reference';
import { corridorChoice, schemasOf } from '../corridor-schemas.js';

/** A request to add a recipient. An input is one as JSON. */
interface Request extends CorridorQuery {
  readonly data: BeneficiaryData;
}

const KINDS = ['Individual', 'Corporate'].map((kind, index) => ({
  id: BigInt(index),
  beneficiary_account_type: kind,
  destination_currency_id: 1,
}));
/** Values shorter than this may be part of a message by chance. */
const REPEATED_MIN = 6;

function requestIn(input: string): Request | undefined {
  try {
    const value = JSON.parse(input) as Partial<Request> | null;
    const { countryCode, currencyCode, payoutMethod } = value ?? {};
    // The HTTP layer passes on texts only.
    if (![countryCode, currencyCode, payoutMethod].every((text) => typeof text === 'string')) return undefined;
    return value as Request;
  } catch {
    return undefined;
  }
}

/** The steps of `addInternationalRecipient`, without the database. */
function check(input: string): 'accepted' | 'refused' {
  const request = requestIn(input);
  if (request === undefined) return 'refused';
  const { countryCode, currencyCode, payoutMethod, data } = request;
  const texts = checkBeneficiaryTexts(data);
  checkFaults(texts, data);
  if (texts.length > 0) return 'refused';
  const choice = corridorChoice({ countryCode, currencyCode, payoutMethod });
  if (choice === undefined) return 'refused';
  let schemas: ReturnType<typeof schemasOf>;
  try {
    schemas = schemasOf(choice, KINDS);
  } catch (error) {
    if (error instanceof Refusal && error.reason === 'corridor_not_found') return 'refused';
    throw error;
  }
  const faults = checkRecipient(schemas, data);
  checkFaults(faults, data, JSON.stringify(schemas));
  if (faults.length > 0) return 'refused';
  checkAccepted(schemas, data, choice);
  return 'accepted';
}

/** @param quoted what a message may contain although the details contain it: rules and examples of the schemas */
function checkFaults(faults: readonly RefusalDetail[], data: unknown, quoted = ''): void {
  if (faults.length > 20) throw new Error('too many faults');
  for (const { path, message } of faults) {
    if (!/^\/data(?:\/[A-Za-z][A-Za-z0-9_]{0,63})?$/.test(path)) throw new Error('a path is no field of data');
    if (message.length > 600) throw new Error('a message is too long');
    if (/[\p{Cc}\p{Cs}]/u.test(message)) throw new Error('a message has a forbidden character');
  }
  if (typeof data !== 'object' || data === null) return;
  const messages = faults.map(({ message }) => message).join('\n');
  for (const value of Object.values(data) as unknown[]) {
    if (typeof value !== 'string' || value.length < REPEATED_MIN || FIELDS.includes(value)) continue;
    if (messages.includes(value) && !quoted.includes(value)) throw new Error('a message repeats a value');
  }
}

/** Accepted details are texts of known fields, survive JSON, and are of the chosen corridor. */
function checkAccepted(schemas: ReturnType<typeof schemasOf>, data: BeneficiaryData, choice: CorridorQuery): void {
  const copy = JSON.parse(JSON.stringify(data)) as BeneficiaryData;
  if (checkRecipient(schemas, copy).length > 0) throw new Error('accepted details are refused after JSON');
  const known = Object.keys(schemas[0]?.properties ?? {});
  for (const [field, value] of Object.entries(copy)) {
    if (!known.includes(field) || typeof value !== 'string') throw new Error('an unknown field is accepted');
    if (value.trim() === '' || value.length > 280 || /[\p{Cc}\p{Cs}\p{Cf}]/u.test(value)) {
      throw new Error('an unreadable text is accepted');
    }
  }
  if (copy.destinationCountry !== choice.countryCode) throw new Error('another country is accepted');
}

const CHOICES: readonly (readonly [string, string, 'LOCAL' | 'SWIFT'])[] = [
  ['IN', 'INR', 'LOCAL'],
  ['IND', 'usd', 'SWIFT'],
  ['DE', 'EUR', 'LOCAL'],
  ['CH', 'CHF', 'SWIFT'],
  ['BR', 'BRL', 'LOCAL'],
  ['MX', 'MXN', 'LOCAL'],
  ['NG', 'NGN', 'LOCAL'],
  ['US', 'USD', 'LOCAL'],
  ['AR', 'USD', 'SWIFT'],
  ['MA', 'USD', 'SWIFT'],
];

/** The examples of the schemas, one request for each form of details. */
const EXAMPLES = CHOICES.flatMap(([countryCode, currencyCode, payoutMethod]) => {
  const query = { countryCode, currencyCode, payoutMethod };
  const choice = corridorChoice(query);
  const schemas = choice === undefined ? [] : recipientSchemasOf(choice);
  return schemas.map(({ examples: [data] }) => ({ ...query, data }));
});
const FIELDS = Object.keys(EXAMPLES[0]?.data ?? {});
const TEXTS = EXAMPLES.flatMap(({ data }) => Object.values(data ?? {}));

export const target = {
  examples: EXAMPLES.map((request) => JSON.stringify(request)),
  tokens: [...new Set([...TEXTS, ...FIELDS, 'GB', 'GBP', 'FR', 'ZZ', '\u2028', ' ', 'ﬁ'])],
  lengthMax: 16_384,
  check,
};
