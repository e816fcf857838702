import {
  type AddInternalRecipientInput,
  type AddInternationalRecipientInput,
  type BeneficiaryData,
  type Created,
  type Page,
  type Recipient,
  type RecipientChange,
  type RecipientId,
  type RecipientQuery,
  Refusal,
  type RefusalDetail,
  type RequestOptions,
  type WorkspaceId,
  type PlainNumber,
} from '@banking/domain';
import type { RailRouting } from '@banking/payouts';
import { bind, type BoundStatement, type Database, sqlStatement } from '@banking/postgres';
import { bankOf, checkBeneficiaryTexts, checkRecipient, type CorridorRoute } from '@banking/reference';
import { type AuditedCall, entriesOf } from '../audit/audited-call.js';
import { corridorChoice, corridorsRead, destinationOf, schemasOf } from '../corridors/corridors.js';
import { createOnce } from '../idempotency/create-once.js';
import { listPage } from '../lists/list-page.js';
import { pageByClass, type PagedList } from '../lists/paged-list.js';
import { RECIPIENT, RECIPIENT_PAGE, type VerifiedRecipientRow } from '../resources/compose-parties.js';
import { type Reading, readResource, type ResourceQuery, type RowFacts } from '../resources/reading.js';

const GET_RECIPIENT = sqlStatement<VerifiedRecipientRow>(
  'get_recipient',
  `select ${RECIPIENT.columns} from recipient t ${RECIPIENT.joins}
   where t.workspace_id = $1 and t.id = $2 and t.forgotten_at is null`,
);

/** Reads a recipient with its last verification. */
export const recipientQuery = (
  workspaceId: number,
  recipientId: number,
): ResourceQuery<VerifiedRecipientRow, Recipient> => ({
  bound: bind(GET_RECIPIENT, workspaceId, recipientId),
  compose: RECIPIENT.compose,
});

/** @throws Refusal `recipient_not_found` also for a recipient of another workspace and for a deleted one */
export async function getRecipient(
  reading: Reading,
  workspaceId: WorkspaceId,
  recipientId: RecipientId | PlainNumber,
): Promise<Recipient> {
  return readResource(reading, workspaceId, recipientQuery(workspaceId, recipientId), 'recipient_not_found');
}

const RECIPIENTS: PagedList<RowFacts, Recipient> = {
  name: 'list_recipients',
  table: 'recipient',
  indexes: [{ where: 'l.forgotten_at is null' }],
  classes: { saved: 'boolean' },
  filters: {},
  page: pageByClass,
  items: RECIPIENT_PAGE,
};

/** @throws Refusal `limit_invalid`, `cursor_invalid` */
export function listRecipients(
  reading: Reading,
  workspaceId: WorkspaceId,
  { limit, cursor, saved }: RecipientQuery,
): Promise<Page<Recipient>> {
  return listPage(reading, RECIPIENTS, { workspaceId, limit, cursor, filters: { saved } });
}

const FIND_CODE = sqlStatement<{ currency_id: number }>(
  'find_account_code',
  'select currency_id from account_code where code = $1',
);

/** Finds the currency of an account of another database. Undefined if none has the code. */
export type CurrencyElsewhere = (accountCode: string) => Promise<number | undefined>;

/**
 * Adds a recipient by the code of an account. Another database is asked only for a code that is unknown here, and outside of a database
 * transaction.
 *
 * The name comes from the payer, never from the holder: a guessed code must not reveal whose account it is.
 *
 * @throws Refusal `recipient_invalid`, `unavailable` if the other database is away, and those of `createOnce`
 */
export async function addInternalRecipient(
  reading: Reading,
  caller: AuditedCall,
  input: AddInternalRecipientInput,
  options: RequestOptions,
  currencyElsewhere?: CurrencyElsewhere,
): Promise<Created<Recipient>> {
  try {
    return await addWithCurrency(reading, caller, input, options);
  } catch (error) {
    if (!currencyElsewhere || !isUnknownCode(error)) throw error;
    const currencyId = await currencyElsewhere(input.accountCode);
    if (currencyId === undefined) throw error;
    return addWithCurrency(reading, caller, input, options, currencyId);
  }
}

/** @param currencyElsewhere the currency if the account is in another database */
function addWithCurrency(
  reading: Reading,
  caller: AuditedCall,
  { accountCode, name, alias, saved }: AddInternalRecipientInput,
  options: RequestOptions,
  currencyElsewhere?: number,
): Promise<Created<Recipient>> {
  const { workspaceId } = caller;
  const note = { ...(alias !== undefined && { alias }), ...(saved !== undefined && { saved }) };
  const content = { accountCode, ...(name !== undefined && { name }), ...note };
  const request = { workspaceId, operation: 'addInternalRecipient', content };
  return createOnce(reading, request, options, caller, async (tx) => {
    const [[account], [next]] = await tx.pipeline([bind(FIND_CODE, accountCode), nextRecipient] as const);
    const currencyId = account?.currency_id ?? currencyElsewhere;
    if (currencyId === undefined) throw unknownCode();
    const id = Number(next?.id);
    const shown = { name: name ?? alias ?? accountCode, accountCode, ...note };
    return {
      writes: recordRecipient({ workspaceId, id, ...shown, currencyId }),
      audited: { type: 'recipient', id },
      resource: recipientQuery(workspaceId, id),
    };
  });
}

const ACCOUNT_UNKNOWN = 'account_unknown';

const isUnknownCode = (error: unknown): boolean =>
  error instanceof Refusal && error.details?.some(({ reason }) => reason === ACCOUNT_UNKNOWN) === true;

function unknownCode(): Refusal {
  const message = 'No account has this accountCode.';
  return new Refusal('recipient_invalid', message, {
    details: [{ path: '/accountCode', reason: ACCOUNT_UNKNOWN, message }],
  });
}

/** @throws Refusal `recipient_invalid` for what no schema of a recipient allows */
export const checkDetails = ({ data }: Pick<AddInternationalRecipientInput, 'data'>): void =>
  refuseFaults(checkBeneficiaryTexts(data));

/**
 * Checks the details against the schemas that `listRecipientSchemas` returns. A closed corridor accepts recipients: it may be open at the
 * time of a payment. The texts are checked before the key, which has a hash of them.
 *
 * @throws Refusal `corridor_not_found`, `recipient_invalid`, and those of `createOnce`
 */
export async function addInternationalRecipient(
  reading: Reading,
  rails: RailRouting,
  caller: AuditedCall,
  { countryCode, currencyCode, payoutMethod, data, alias, saved }: AddInternationalRecipientInput,
  options: RequestOptions,
): Promise<Created<Recipient>> {
  checkDetails({ data });
  const { workspaceId } = caller;
  const query = { countryCode, currencyCode, payoutMethod };
  const note = { ...(alias !== undefined && { alias }), ...(saved !== undefined && { saved }) };
  const request = { workspaceId, operation: 'addInternationalRecipient', content: { ...query, data, ...note } };
  return createOnce(reading, request, options, caller, async (tx) => {
    const choice = corridorChoice(query);
    if (!choice) throw new Refusal('corridor_not_found');
    const [corridors, [next]] = await tx.pipeline([corridorsRead(choice), nextRecipient] as const);
    refuseFaults(checkRecipient(schemasOf(corridors, rails), data));

    const corridor = corridors.find((row) => row.beneficiaryAccountType === data.beneficiaryAccountType);
    if (!corridor || !next) throw new Error('the corridor of the checked details is missing');
    refuseUnpayable(rails, corridor, data);
    const id = Number(next.id);
    const { beneficiaryName: name = '', beneficiaryAccountNumber: accountCode = '' } = data;
    const swiftCode = bankOf(data.routingCodeType1 ?? '', data.routingCodeValue1 ?? '')?.swiftCode;
    const abroad = { corridorId: Number(corridor.id), data, swiftCode };
    const currencyId = corridor.destinationCurrencyId;
    return {
      writes: recordRecipient({ workspaceId, id, name, accountCode, ...note, currencyId, abroad }),
      audited: { type: 'recipient', id },
      resource: recipientQuery(workspaceId, id),
    };
  });
}

/** No payment to it could leave. */
function refuseUnpayable(
  rails: RailRouting,
  corridor: CorridorRoute,
  data: AddInternationalRecipientInput['data'],
): void {
  const { beneficiaryName: name = '', beneficiaryAccountNumber: account = '', routingCodeType1: type } = data;
  const { routingCodeValue1: code } = data;
  const destination = destinationOf(corridor);
  const message = rails.faultOf(destination, {
    ...{ name, account, bankCountry: destination.country },
    ...(type !== undefined && code !== undefined && { routing: { type, code } }),
  });
  if (message !== undefined) refuseFaults([{ path: '/data', reason: 'recipient_invalid', message }]);
}

function refuseFaults(details: readonly RefusalDetail[]): void {
  if (details.length === 0) return;
  throw new Refusal('recipient_invalid', details.length === 1 ? details[0]?.message : undefined, { details });
}

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
const nextRecipient: BoundStatement<{ id: bigint }> = bind(NEXT_RECIPIENT);

interface RecipientRecord {
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
function recordRecipient(recipient: RecipientRecord): BoundStatement<unknown>[] {
  const { workspaceId, id, name, accountCode, alias, saved = true, currencyId, abroad } = recipient;
  const kind = abroad ? 'international' : 'internal';
  const place = [currencyId, abroad?.corridorId, abroad?.swiftCode];
  return [
    bind(ADD_RECIPIENT, workspaceId, id, kind, name, accountCode, alias, saved, ...place),
    ...(abroad ? [bind(ADD_BENEFICIARY, workspaceId, id, JSON.stringify(abroad.data))] : []),
  ];
}

/** Fields that are not given keep their value. */
const CHANGE_RECIPIENT = sqlStatement(
  'change_recipient',
  `with changed as (
     update recipient set alias = coalesce($3, alias), saved = coalesce($4, saved), updated_at = statement_timestamp()
     where workspace_id = $1 and id = $2 and forgotten_at is null
       and (alias, saved) is distinct from (coalesce($3, alias), coalesce($4, saved))
     returning id)
   insert into audit_outbox (workspace_id, entries) select $1, $5::jsonb from changed`,
);

/** @throws Refusal `recipient_not_found` */
export async function changeRecipient(
  { database, reference }: Reading,
  caller: AuditedCall,
  { recipientId, alias, saved }: RecipientChange,
): Promise<Recipient> {
  const { workspaceId, actor } = caller;
  const audited = { operation: 'changeRecipient', resource: { type: 'recipient', id: recipientId } };
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const composeChanged = await reference.beforeChange();
  const { bound, compose } = recipientQuery(workspaceId, recipientId);
  const [, [row]] = await database.write(scope, [
    bind(CHANGE_RECIPIENT, workspaceId, recipientId, alias, saved, entriesOf(caller, audited)),
    bound,
  ] as const);
  if (!row) throw new Refusal('recipient_not_found');
  return composeChanged((current) => compose(current, row));
}

/** The row stays for its transfers. A trigger refuses further changes. */
const DELETE_RECIPIENT = sqlStatement<{ id: bigint }>(
  'delete_recipient',
  `with deleted as (
     update recipient set forgotten_at = statement_timestamp(), updated_at = statement_timestamp()
     where workspace_id = $1 and id = $2 and forgotten_at is null
     returning id),
   noted as (insert into audit_outbox (workspace_id, entries) select $1, $3::jsonb from deleted)
   select id from deleted`,
);

/** @throws Refusal `recipient_not_found` also for a deleted recipient */
export async function deleteRecipient(
  database: Database,
  caller: AuditedCall,
  recipientId: RecipientId | PlainNumber,
): Promise<void> {
  const { workspaceId, actor } = caller;
  const audited = { operation: 'deleteRecipient', resource: { type: 'recipient', id: recipientId } };
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const [deleted] = await database.write(scope, [
    bind(DELETE_RECIPIENT, workspaceId, recipientId, entriesOf(caller, audited)),
  ] as const);
  if (deleted.length === 0) throw new Refusal('recipient_not_found');
}
