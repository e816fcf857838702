import type {
  HashedConversion,
  HashedOrder,
  HashedRecipient,
  OrderTexts,
  RecipientPerson,
} from '@banking/domain/proof';
import { currencyCode, digestOrNone } from '@banking/ledger';
import { sqlStatement } from '@banking/postgres';
import {
  digestOfConversion,
  digestOfOrder,
  digestOfOrderTexts,
  digestOfPerson,
  digestOfRecipient,
} from '../payments/payment-entries.js';
import { contentOfRow } from '../resources/compose-order.js';
import { computed, type RangeCheck } from './verify-ranges.js';

/** A transaction with the digests that its hash covers, and the rows that they are of. */
interface CoveringRow {
  readonly id: bigint;
  readonly order_digest: string | null;
  readonly conversion_digest: string | null;
  readonly order: StoredOrder | null;
  readonly conversion: ConversionJson | null;
  readonly recipients: readonly { readonly digest: string | null; readonly recipient: RecipientJson }[] | null;
}

/** An order as it is stored: what its transactions cover, with its free texts. */
export type StoredOrder = HashedOrder & Partial<OrderTexts> & { readonly textsSalt?: string | undefined };

/** A conversion as JSON, from its row `c`. Currencies are ids. */
export const CONVERSION_JSON = `json_strip_nulls(json_build_object(
  'quoteId', c.quote_id, 'sourceCurrencyId', c.source_currency_id, 'sourceAmount', c.source_amount::text,
  'targetCurrencyId', c.target_currency_id, 'targetAmount', c.target_amount::text, 'rate', c.rate, 'rateSource', c.rate_source,
  'rateAsOf', rfc3339(c.rate_as_of), 'rounding', c.rounding, 'remainderNumerator', c.remainder_numerator::text,
  'remainderDenominator', c.remainder_denominator::text, 'fixedSide', c.fixed_side))`;

/** A recipient as JSON, from its row `r` and its beneficiary `n`. Currencies are ids. */
export const RECIPIENT_JSON = `json_strip_nulls(json_build_object(
  'id', r.id, 'name', r.name, 'accountCode', r.account_code, 'salt', encode(r.person_salt, 'hex'),
  'personDigest', encode(r.person_digest, 'hex'), 'currencyId', r.currency_id, 'corridorId', r.corridor_id,
  'routingCodeType', n.data ->> 'routingCodeType1', 'routingCode', n.data ->> 'routingCodeValue1'))`;

/** Hashes of version 1 cover no such rows. */
const COVERED = sqlStatement<CoveringRow>(
  'verify_digests',
  `select x.id, encode(x.order_digest, 'hex') as order_digest, encode(x.conversion_digest, 'hex') as conversion_digest,
          (select ${contentOfRow('o')} from execution e join customer_order o on o.workspace_id = $1 and o.id = e.order_id
           where e.workspace_id = $1 and e.transaction_id = x.id limit 1) as order,
          (select ${CONVERSION_JSON} from conversion c where c.workspace_id = $1 and c.transaction_id = x.id) as conversion,
          (select json_agg(json_build_object('digest', encode(t.recipient_digest, 'hex'), 'recipient', ${RECIPIENT_JSON}))
           from transfer t join recipient r on r.workspace_id = $1 and r.id = t.recipient_id
             left join beneficiary n on n.workspace_id = $1 and n.recipient_id = r.id
           where t.workspace_id = $1 and t.transaction_id = x.id) as recipients
   from transaction x
   where x.workspace_id = $1 and x.id > $2 and x.id <= $3`,
);

/** Without the check, an edited order, conversion or recipient would not be found: the hash covers only the digests. */
export const DIGEST_CHECK: RangeCheck = {
  check: 'every order, conversion and recipient is what its transactions cover',
  over: { transaction: computed(COVERED, faultOf) },
};

function faultOf({
  id,
  order_digest,
  conversion_digest,
  order,
  conversion,
  recipients,
}: CoveringRow): string | undefined {
  const isCovered = <T>(digest: string | null | undefined, row: T | null | undefined, digestOf: (row: T) => string) =>
    digest === (row && digestOrNone(() => digestOf(row)));
  if (!isCovered(order_digest, order, digestOfOrder)) return `transaction ${id} covers another order, or none`;
  // Without their salt, texts are erased: a check constraint refuses texts then.
  if (order?.textsSalt !== undefined && !isCovered(order.textsDigest, textsOf(order), digestOfOrderTexts)) {
    return `transaction ${id} covers other texts of order ${order.id}`;
  }
  if (!isCovered(conversion_digest, conversion, (row) => digestOfConversion(conversionFrom(row)))) {
    return `transaction ${id} covers another conversion, or none`;
  }
  const edited = recipients?.find(
    ({ digest, recipient }) =>
      !isCovered(digest, recipient, (row) => digestOfRecipient(recipientFrom(row))) || !isPersonCovered(recipient),
  );
  return edited && `transaction ${id} covers other details of recipient ${edited.recipient.id}`;
}

/** The free texts of an order. Undefined without any, and once they were erased. */
export function textsOf({ textsSalt: salt, description, metadata }: StoredOrder): OrderTexts | undefined {
  return salt === undefined ? undefined : { salt, description, metadata };
}

/** The name and the account of a recipient. Undefined once they were erased. */
export function personOf({ salt, name, accountCode }: RecipientJson): RecipientPerson | undefined {
  return salt === undefined ? undefined : { salt, name, accountCode };
}

/** An erased recipient has its pseudonyms, and no other texts. */
function isPersonCovered(recipient: RecipientJson): boolean {
  const { id, name, accountCode, personDigest } = recipient;
  const person = personOf(recipient);
  return person
    ? digestOrNone(() => digestOfPerson(person)) === personDigest
    : [name, accountCode].every((text) => text === `erased-${id}`);
}

export type RecipientJson = Omit<HashedRecipient, 'currencyCode'> &
  Omit<RecipientPerson, 'salt'> & { readonly currencyId: number; readonly salt?: string | undefined };

export type ConversionJson = Omit<HashedConversion, 'sourceCurrencyCode' | 'targetCurrencyCode'> & {
  readonly sourceCurrencyId: number;
  readonly targetCurrencyId: number;
};

export function recipientFrom({ currencyId, ...recipient }: RecipientJson): HashedRecipient {
  return { ...recipient, currencyCode: currencyCode(currencyId) };
}

export function conversionFrom({
  sourceCurrencyId,
  targetCurrencyId,
  ...conversion
}: ConversionJson): HashedConversion {
  return {
    ...conversion,
    sourceCurrencyCode: currencyCode(sourceCurrencyId),
    targetCurrencyCode: currencyCode(targetCurrencyId),
  };
}
