import { LIMIT_DEFAULT } from '@banking/domain';

/**
 * Fragments of SELECT that build the JSON of resources with their `edges`, so that a read is one query. Each fragment takes the alias of
 * its table. `resource` strips the nulls once.
 */

/** A whole resource. Optional fields without a value are omitted, never null. */
export const resource = (json: string): string => `json_strip_nulls(${json})`;

const times = (alias: string): string =>
  `'createdAt', rfc3339(${alias}.created_at), 'updatedAt', rfc3339(${alias}.updated_at)`;

export const currencyJson = (c: string): string =>
  `json_build_object('id', ${c}.id, 'code', ${c}.code, 'name', ${c}.name, 'symbol', ${c}.symbol, 'decimals', ${c}.decimals,
     'swiftMinimumWithdrawalAmount', ${c}.swift_minimum_withdrawal_amount::text, ${times(c)})`;

export const productJson = (p: string, currency: string): string =>
  `json_build_object('id', ${p}.id, 'name', ${p}.name, 'description', ${p}.description, ${times(p)},
     'edges', json_build_object('currency', ${currencyJson(currency)}))`;

/** `balances` has one element, the latest snapshot. Opening an account writes its first, of 0. */
const accountJson = (a: string, product: string, currency: string): string =>
  `json_build_object('id', ${a}.id, 'name', ${a}.name, 'status', ${a}.status, 'type', ${a}.type, 'alias', ${a}.alias,
     'code', ${a}.code, ${times(a)},
     'edges', json_build_object(
       'balances', json_build_array(json_build_object('id', ${a}.balance_id, 'amount', ${a}.balance,
         'createdAt', rfc3339(${a}.balance_at), 'updatedAt', rfc3339(${a}.balance_at))),
       'currency', ${currencyJson(currency)},
       'product', ${productJson(product, currency)}))`;

/**
 * The account of a row, as a subquery: without table statistics, the plan of a join would read all accounts of the workspace for each
 * row.
 */
const accountOf = (row: string): string =>
  `(select ${accountJson('sa', 'sp', 'sc')}
    from account sa join product sp on sp.id = sa.product_id join currency sc on sc.id = sa.currency_id
    where sa.workspace_id = ${row}.workspace_id and sa.id = ${row}.account_id)`;

/** The balance after a transfer shares its id and its time. */
const balanceJson = (t: string): string =>
  `json_build_object('id', ${t}.id, 'amount', ${t}.balance_after,
     'createdAt', rfc3339(${t}.created_at), 'updatedAt', rfc3339(${t}.created_at))`;

/**
 * Null if there is no recipient. Bank and beneficiary are null if there are none. The currency of an account in another workspace is
 * not disclosed.
 */
const recipientJson = (r: string, bank: string, beneficiary: string, currency: string): string =>
  `case when ${r}.id is not null then json_build_object('id', ${r}.id, 'name', ${r}.name, 'accountCode', ${r}.account_code,
     'alias', ${r}.alias, 'saved', ${r}.saved, ${times(r)},
     'edges', json_build_object(
       'bank', case when ${bank}.id is not null then json_build_object('id', ${bank}.id, 'name', ${bank}.name,
         'countryCode', ${bank}.country_code, 'swiftCode', ${bank}.swift_code, ${times(bank)}) end,
       'beneficiary', case when ${beneficiary}.id is not null then json_build_object('id', ${beneficiary}.id,
         'data', ${beneficiary}.data, ${times(beneficiary)}) end,
       'currency', case when ${r}.kind = 'international' or exists (
         select from account_code o where o.code = ${r}.account_code and o.workspace_id = ${r}.workspace_id)
         then ${currencyJson(currency)} end)) end`;

/** The joins of a recipient. */
const recipientJoins = (r: string) => `left join bank b on b.id = ${r}.bank_id
   left join beneficiary n on (n.workspace_id, n.recipient_id) = (${r}.workspace_id, ${r}.id)
   left join currency rc on rc.id = ${r}.currency_id`;

/** The recipient of a row, as a subquery like `accountOf`. */
const recipientOf = (row: string): string =>
  `(select ${recipientJson('r', 'b', 'n', 'rc')} from recipient r ${recipientJoins('r')}
    where r.workspace_id = ${row}.workspace_id and r.id = ${row}.recipient_id)`;

const remittanceJson = (m: string): string =>
  `case when ${m}.id is not null then json_build_object('id', ${m}.id, ${times(m)},
     'edges', json_build_object('events', coalesce((
       select json_agg(json_build_object('id', e.id, 'status', e.status, 'message', e.message, 'reasonCode', e.reason_code,
                'createdAt', rfc3339(e.created_at), 'lastUpdatedAt', rfc3339(e.last_updated_at)) order by e.created_at, e.id)
       from remittance_event e where e.workspace_id = ${m}.workspace_id and e.remittance_id = ${m}.id), '[]'))) end`;

/** One row of a table, looked up by itself (`offset 0`) for the same reason as in `accountOf`. */
const lookedUp = (table: string, alias: string, on: string): string =>
  `left join lateral (select * from ${table} l where ${on} offset 0) ${alias} on true`;

/** SQL expressions for the workspace, the id and the reversed transaction of a transaction. */
interface Linked {
  readonly workspaceId: string;
  readonly id: string;
  readonly returnOf: string;
  /** The order that it carries out, if known. */
  readonly orderId?: string;
}

/** A column of the only row of the workspace with a value in another column. */
const onlyOne = (column: string, table: string, w: string, key: string, value: string): string =>
  `(select l.${column} from ${table} l
    where l.workspace_id = ${w} and l.${key} >= ${value} and l.${key} <= ${value} order by l.${key} limit 1)`;

/**
 * The links of a transaction as `key, value` pairs: the order it carries out, the transaction it reverses, the return that reverses it.
 * Null if there is none, such as the order of a return.
 *
 * Each is looked up as a range of one value in the order of a unique index. For an equality, a plan without table statistics may use
 * another index that begins with the workspace, and read all of the workspace for each transaction.
 */
export const linksJson = ({ workspaceId: w, id, returnOf, orderId }: Linked): string =>
  `'orderID', ${orderId ?? onlyOne('order_id', 'execution', w, 'transaction_id', id)},
   'returnOf', ${returnOf}, 'returnedBy', ${onlyOne('id', 'transaction', w, 'return_of', id)}`;

/** Parts of a transaction that are known from its context. */
interface TransactionParts {
  readonly orderId?: string;
  readonly accountOfTransfer?: string;
}

/** The transaction with its tracking and its transfers on customers' accounts. Transfers on own accounts are not disclosed. */
const transactionJson = (
  x: string,
  m: string,
  { orderId, accountOfTransfer = accountOf('s') }: TransactionParts = {},
): string =>
  `json_build_object('id', ${x}.id, 'status', ${x}.status, 'hash', ${x}.hash,
     ${linksJson({ workspaceId: `${x}.workspace_id`, id: `${x}.id`, returnOf: `${x}.return_of`, ...(orderId !== undefined && { orderId }) })}, ${times(x)},
     'edges', json_build_object(
       'internationalRemittance', ${remittanceJson(m)},
       'transfers', (
         select json_agg(${transferJson('s', accountOfTransfer)} order by s.id)
         from (select * from transfer l
               where l.workspace_id = ${x}.workspace_id and l.transaction_id >= ${x}.id and l.transaction_id <= ${x}.id
               order by l.transaction_id offset 0) s
         where s.account_version is not null)))`;

/** A transfer with its account and balance. `moreEdges` are further `key, json` pairs. */
const transferJson = (t: string, account: string, moreEdges = ''): string =>
  `json_build_object('id', ${t}.id, 'amount', ${t}.amount::text, 'description', ${t}.description, 'direction', ${t}.direction,
     'type', ${t}.type, 'purpose', ${t}.purpose, 'feeAmount', ${t}.fee_amount::text,
     'createdAt', rfc3339(${t}.created_at), 'updatedAt', rfc3339(${t}.created_at),
     'edges', json_build_object('account', ${account}, 'balance', ${balanceJson(t)}${moreEdges && `, ${moreEdges}`}))`;

/** A transfer `t` with all its edges, for single reads and lists, with its joins. */
export const WHOLE_TRANSFER = {
  item: resource(
    transferJson(
      't',
      accountJson('a', 'p', 'c'),
      `'recipient', ${recipientJson('r', 'b', 'n', 'rc')}, 'transaction', ${transactionJson('x', 'm')}`,
    ),
  ),
  joins: `${lookedUp('account', 'a', 'l.workspace_id = t.workspace_id and l.id = t.account_id')}
   join product p on p.id = a.product_id
   join currency c on c.id = a.currency_id
   ${lookedUp('transaction', 'x', 'l.workspace_id = t.workspace_id and l.id = t.transaction_id')}
   ${lookedUp('remittance', 'm', 'l.workspace_id = x.workspace_id and l.transaction_id = x.id')}
   ${lookedUp('recipient', 'r', 'l.workspace_id = t.workspace_id and l.id = t.recipient_id')}
   ${recipientJoins('r')}`,
} as const;

/** A transaction `t` with all its edges. */
export const WHOLE_TRANSACTION = {
  item: resource(transactionJson('t', 'm')),
  joins: 'left join remittance m on (m.workspace_id, m.transaction_id) = (t.workspace_id, t.id)',
} as const;

/** A quote `t` with all its edges. Of a recipient in another workspace it discloses only the arriving amount and currency. */
export const WHOLE_QUOTE = {
  item: resource(
    `json_build_object('id', t.id, 'amount', t.amount::text, 'rate', t.rate, 'feeAmount', t.fee_amount::text,
     'targetAmount', t.target_amount::text, 'expiresAt', rfc3339(t.expires_at),
     'createdAt', rfc3339(t.created_at), 'updatedAt', rfc3339(t.created_at),
     'edges', json_build_object('account', ${accountJson('a', 'p', 'c')}, 'recipient', ${recipientJson('r', 'b', 'n', 'rc')},
       'targetCurrency', ${currencyJson('tc')}))`,
  ),
  joins: `join account a on (a.workspace_id, a.id) = (t.workspace_id, t.account_id)
   join product p on p.id = a.product_id
   join currency c on c.id = a.currency_id
   join currency tc on tc.id = t.target_currency_id
   left join recipient r on (r.workspace_id, r.id) = (t.workspace_id, t.recipient_id)
   ${recipientJoins('r')}`,
} as const;

/** A recipient `t` with all its edges. */
export const WHOLE_RECIPIENT = {
  item: resource(recipientJson('t', 'b', 'n', 'rc')),
  joins: recipientJoins('t'),
} as const;

/** A customer's account `t` with all its edges. */
export const WHOLE_ACCOUNT = {
  item: resource(accountJson('t', 'p', 'c')),
  joins: 'join product p on p.id = t.product_id join currency c on c.id = t.currency_id',
} as const;

/** One run, with its transaction once it has one. */
const executionJson = (e: string, x: string, m: string, accountOfTransfer: string): string =>
  `json_build_object('id', ${e}.id, 'sequence', ${e}.sequence, 'status', ${e}.status, 'scheduledAt', rfc3339(${e}.scheduled_at),
     'executedAt', rfc3339(${e}.executed_at), 'failureCode', ${e}.failure_code, 'failureMessage', ${e}.failure_message,
     'edges', json_build_object('transaction', case when ${x}.id is not null then ${transactionJson(x, m, { orderId: `${e}.order_id`, accountOfTransfer })} end))`;

/** SQL expressions for a page of executions: how many of the latest, and optionally before which sequence. */
interface Executions {
  readonly latest: string;
  readonly before?: string;
}

/** The executions of an order in the order of their sequence. Most of their transfers are on its account. */
const executionsJson = (o: string, account: string, { latest, before }: Executions): string =>
  `coalesce((select json_agg(${executionJson('e', 'ex', 'em', `case when s.account_id = ${o}.account_id then ${account} else ${accountOf('s')} end`)} order by e.sequence)
     from (select * from execution l where l.workspace_id = ${o}.workspace_id and l.order_id = ${o}.id ${before === undefined ? '' : `and l.sequence < ${before}`}
           order by l.order_id desc, l.sequence desc limit ${latest}) e
     ${lookedUp('transaction', 'ex', 'l.workspace_id = e.workspace_id and l.id = e.transaction_id')}
     ${lookedUp('remittance', 'em', 'l.workspace_id = ex.workspace_id and l.transaction_id = ex.id')}), '[]')`;

const orderJson = (o: string, account: string, recipient: string, executions: string): string =>
  `json_build_object('id', ${o}.id, 'amount', ${o}.amount::text, 'status', ${o}.status, 'type', ${o}.type,
     'description', ${o}.description, 'purposeCode', ${o}.purpose_code, 'repeatUnit', ${o}.repeat_unit, 'repeatValue', ${o}.repeat_value,
     'startAt', rfc3339(${o}.start_at), 'stopAt', rfc3339(${o}.stop_at), 'pausedAt', rfc3339(${o}.paused_at), 'pauseReason', ${o}.pause_reason, 'quoteID', ${o}.quote_id,
     'externalReference', ${o}.external_reference, 'metadata', ${o}.metadata, ${times(o)},
     'edges', json_build_object('account', ${account}, 'recipient', ${recipient}, 'executions', ${executions}))`;

/** An order `t` with all its edges, its executions among them. */
export const orderWith = (executions: Executions) => ({
  item: resource(orderJson('t', 'oa.account', recipientOf('t'), executionsJson('t', 'oa.account', executions))),
  // Evaluated once for each order (`offset 0`), although several edges use it.
  joins: `cross join lateral (select ${accountOf('t')} as account offset 0) oa`,
});

/** A placed order, with the latest page of its executions. */
export const WHOLE_ORDER = orderWith({ latest: String(LIMIT_DEFAULT) });
/** An order of a list, with its ten latest executions. */
export const LISTED_ORDER = orderWith({ latest: '10' });
