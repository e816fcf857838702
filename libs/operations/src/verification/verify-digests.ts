import { digestOfConversion, digestOfOrder, digestOfRecipient } from '../payments/hashed-details.js';
import { sqlStatement } from '@banking/postgres';
import {
  CONVERSION_JSON,
  conversionFrom,
  type ConversionJson,
  ORDER_JSON,
  type OrderJson,
  RECIPIENT_JSON,
  recipientFrom,
  type RecipientJson,
} from './hashed-rows.js';
import { computed, type RangeCheck } from './verify-ranges.js';

/** A transaction with the digests that its hash covers, and the rows that they are of. */
interface CoveringRow {
  readonly id: bigint;
  readonly order_digest: string | null;
  readonly conversion_digest: string | null;
  readonly order: OrderJson | null;
  readonly conversion: ConversionJson | null;
  readonly recipients: readonly { readonly digest: string | null; readonly recipient: RecipientJson }[] | null;
}

/** Hashes of version 1 cover no such rows. */
const COVERED = sqlStatement<CoveringRow>(
  'verify_digests',
  `select x.id, x.order_digest, x.conversion_digest,
          (select ${ORDER_JSON} from execution e join customer_order o on o.workspace_id = $1 and o.id = e.order_id
           where e.workspace_id = $1 and e.transaction_id = x.id limit 1) as order,
          (select ${CONVERSION_JSON} from conversion c where c.workspace_id = $1 and c.transaction_id = x.id) as conversion,
          (select json_agg(json_build_object('digest', t.recipient_digest, 'recipient', ${RECIPIENT_JSON}))
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
  if (order_digest !== (order && digestOfOrder(order))) return `transaction ${id} covers another order, or none`;
  if (conversion_digest !== (conversion && digestOfConversion(conversionFrom(conversion)))) {
    return `transaction ${id} covers another conversion, or none`;
  }
  const edited = recipients?.find(({ digest, recipient }) => digest !== digestOfRecipient(recipientFrom(recipient)));
  return edited && `transaction ${id} covers other details of recipient ${edited.recipient.id}`;
}
