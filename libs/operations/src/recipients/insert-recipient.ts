import type { BeneficiaryData } from '@banking/domain';
import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';

const ADD_RECIPIENT = sqlStatement(
  'add_recipient',
  `insert into recipient (workspace_id, id, kind, name, account_code, alias, saved, currency_id, corridor_id, bank_id)
   select $1, $2, $3, $4, $5, $6, $7, $8, $9, (select b.id from bank b where b.swift_code = $10)`,
);
const ADD_BENEFICIARY = sqlStatement(
  'add_beneficiary',
  'insert into beneficiary (workspace_id, recipient_id, data) values ($1, $2, $3::jsonb)',
);
const NEXT_RECIPIENT = sqlStatement<{ id: bigint }>('next_recipient', `select nextval('recipient_id_seq') as id`);

/** Reserves the id of the next recipient. */
export const nextRecipient: BoundStatement<{ id: bigint }> = bind(NEXT_RECIPIENT);

export interface RecipientRecord {
  readonly workspaceId: number;
  readonly id: number;
  readonly name: string;
  readonly accountCode: string;
  readonly alias?: string | undefined;
  readonly saved?: boolean | undefined;
  readonly currencyId: number;
  /** For an international recipient. An internal one has an account of this service. */
  readonly abroad?: {
    readonly corridorId: number;
    readonly data: BeneficiaryData;
    /** The BIC of the bank, if known. */
    readonly swiftCode?: string | undefined;
  };
}

/** The writes of a recipient with checked details. */
export function recordRecipient(recipient: RecipientRecord): BoundStatement<unknown>[] {
  const { workspaceId, id, name, accountCode, alias, saved = true, currencyId, abroad } = recipient;
  const kind = abroad ? 'international' : 'internal';
  const place = [currencyId, abroad?.corridorId, abroad?.swiftCode];
  return [
    bind(ADD_RECIPIENT, workspaceId, id, kind, name, accountCode, alias, saved, ...place),
    ...(abroad ? [bind(ADD_BENEFICIARY, workspaceId, id, JSON.stringify(abroad.data))] : []),
  ];
}
