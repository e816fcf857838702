import { Pool } from 'pg';
import type { ConnectionOptions } from '@banking/postgres';

/**
 * The leanest way to the bytes of `GET /transfers/{transferId}` and of the first page of `GET /transfers`, for a control: one SQL
 * statement each without row-level security, planned once, reference data in memory, and JSON by joining texts. It shares no code with
 * the service.
 */
const ACCOUNT = (a: string) => `
  json_build_array(${a}.id, ${a}.name, ${a}.status, ${a}.type, ${a}.alias, ${a}.code, ${a}.created_at, ${a}.updated_at,
    ${a}.balance_id, ${a}.balance, ${a}.balance_at, ${a}.currency_id, ${a}.product_id)`;
const TRANSFER = (t: string) => `
  ${t}.id, ${t}.amount::text, ${t}.description, ${t}.direction, ${t}.type, ${t}.purpose, ${t}.fee_amount::text, ${t}.created_at,
  ${t}.balance_after`;
const REMITTANCE = (m: string) => `
  json_build_array(${m}.id, ${m}.created_at, ${m}.updated_at,
    (select json_agg(json_build_array(e.id, e.status, e.message, e.reason_code, e.created_at, e.last_updated_at)
                     order by e.created_at, e.id)
     from remittance_event e where e.workspace_id = $1 and e.remittance_id = ${m}.id))`;
const TRANSACTION = (x: string) => `
  json_build_array(${x}.id, ${x}.status, ${x}.hash,
    (select e.order_id from execution e where e.workspace_id = $1 and e.transaction_id = ${x}.id),
    ${x}.return_of, (select y.id from transaction y where y.workspace_id = $1 and y.return_of = ${x}.id), ${x}.created_at, ${x}.updated_at)`;
const RECIPIENT = (r: string, n: string) => `
  json_build_array(${r}.id, ${r}.name, ${r}.account_code, ${r}.alias, ${r}.saved, ${r}.created_at, ${r}.updated_at, ${r}.bank_id,
    case when ${r}.kind = 'international' or exists (
      select from account_code c where c.code = ${r}.account_code and c.workspace_id = $1) then ${r}.currency_id end,
    ${n}.id, ${n}.data, ${n}.created_at, ${n}.updated_at)`;
const FACTS = `
  json_build_array(${TRANSFER('t')}) as transfer, ${ACCOUNT('a')} as account,
    ${TRANSACTION('x')} as transaction,
    (select json_agg(json_build_array(${TRANSFER('s')},
              case when s.account_id <> t.account_id then
                (select ${ACCOUNT('o')} from account o where o.workspace_id = $1 and o.id = s.account_id) end) order by s.id)
     from transfer s where s.workspace_id = $1 and s.transaction_id = x.id and s.account_version is not null) as transfers,
    case when m.id is not null then ${REMITTANCE('m')} end as remittance,
    case when r.id is not null then ${RECIPIENT('r', 'n')} end as recipient`;
const JOINS = `
  join account a on a.workspace_id = $1 and a.id = t.account_id
  join transaction x on x.workspace_id = $1 and x.id = t.transaction_id
  left join remittance m on m.workspace_id = $1 and m.transaction_id = x.id
  left join recipient r on r.workspace_id = $1 and r.id = t.recipient_id
  left join beneficiary n on n.workspace_id = $1 and n.recipient_id = r.id`;
const ONE = `select ${FACTS} from transfer t ${JOINS} 
  where t.workspace_id = $1 and t.id = $2 and t.account_version is not null and a.kind = 'customer'`;
/** Transfers on accounts of customers, which are those with a version. */
const LISTED = 'l.workspace_id = $1 and l.account_version is not null';
/** Rows by the ids of a table expression. Only good with statistics of the tables. */
const BY_ID = (row: string, from: string, id: string, ids: string) =>
  `(select json_agg(${row}) from ${from} where ${id.split('.')[0]}.workspace_id = $1 and ${id} = any(array(select id from ${ids})))`;
/**
 * The newest transfers, from the index by type, direction and time: a sort of all transfers would take a hundred times as long. Then the
 * rows that they refer to, each once.
 */
const PAGE = `
  with recursive class as (
    (select l.type, l.direction from transfer l where ${LISTED} order by l.type, l.direction limit 1)
    union all
    select n.* from class c cross join lateral (
      select l.type, l.direction from transfer l where ${LISTED} and (l.type, l.direction) > (c.type, c.direction)
      order by l.type, l.direction limit 1) n),
  page as materialized (
    select r.* from class c cross join lateral (
      select l.id, l.transaction_id, l.recipient_id, l.created_at from transfer l
      where ${LISTED} and l.type = c.type and l.direction = c.direction order by l.created_at desc, l.id desc limit $2) r
    order by r.created_at desc, r.id desc limit $2),
  transaction_id as materialized (select distinct transaction_id as id from page),
  sibling as materialized (
    select l.* from transfer l where ${LISTED} and l.transaction_id = any(array(select id from transaction_id))),
  account_id as materialized (select distinct account_id as id from sibling),
  recipient_id as materialized (select distinct recipient_id as id from page)
  select (select json_agg(json_build_array(p.id, p.transaction_id, p.recipient_id) order by p.created_at desc, p.id desc) from page p) as page,
    (select json_agg(json_build_array(${TRANSFER('s')}, s.transaction_id, s.account_id) order by s.id) from sibling s) as transfers,
    ${BY_ID(ACCOUNT('a'), 'account a', 'a.id', 'account_id')} as accounts,
    ${BY_ID(TRANSACTION('x'), 'transaction x', 'x.id', 'transaction_id')} as transactions,
    ${BY_ID(`json_build_array(m.transaction_id, ${REMITTANCE('m')})`, 'remittance m', 'm.transaction_id', 'transaction_id')} as remittances,
    ${BY_ID(
      RECIPIENT('r', 'n'),
      'recipient r left join beneficiary n on n.workspace_id = $1 and n.recipient_id = r.id',
      'r.id',
      'recipient_id',
    )} as recipients`;

const REFERENCE = `
  select 'currency' as kind, id::bigint, json_strip_nulls(json_build_object('id', id, 'code', code, 'name', name, 'symbol', symbol,
      'decimals', decimals, 'swiftMinimumWithdrawalAmount', swift_minimum_withdrawal_amount::text,
      'createdAt', rfc3339(created_at), 'updatedAt', rfc3339(updated_at)))::text as json, null::int as currency_id
  from currency
  union all
  select 'product', id, json_strip_nulls(json_build_object('id', id, 'name', name, 'description', description,
      'createdAt', rfc3339(created_at), 'updatedAt', rfc3339(updated_at)))::text, currency_id from product
  union all
  select 'bank', id, json_strip_nulls(json_build_object('id', id, 'name', name, 'countryCode', country_code, 'swiftCode', swift_code,
      'createdAt', rfc3339(created_at), 'updatedAt', rfc3339(updated_at)))::text, null from bank`;

type Values = readonly unknown[];
type Row = Readonly<Record<string, Values | null>>;
type PageRow = Readonly<Record<string, readonly Values[] | null>>;

/** Opens the control's own connections. The returned functions read transfers of workspace 1 as JSON. */
export async function leanTransfers(connection: ConnectionOptions, connections: number) {
  const pool = new Pool({
    ...connection,
    max: connections,
    options: '-c search_path=banking -c timezone=UTC -c jit=off -c plan_cache_mode=force_generic_plan',
  });
  const { rows } = await pool.query<{ kind: string; id: string; json: string; currency_id: number | null }>(REFERENCE);
  const reference = new Map(rows.map(({ kind, id, json }) => [`${kind}/${id}`, json]));
  for (const { kind, id, json, currency_id: currency } of rows) {
    if (kind !== 'product') continue;
    reference.set(
      `product/${id}`,
      `${json.slice(0, -1)},"edges":{"currency":${reference.get(`currency/${currency}`)}}}`,
    );
  }
  return {
    async read(id: string): Promise<string | undefined> {
      const result = await pool.query<Row>({ name: 'lean_transfer', text: ONE, values: [1, id] });
      return result.rows[0] && transferJson(reference, result.rows[0]);
    },
    async page(limit: string): Promise<string> {
      const result = await pool.query<PageRow>({ name: 'lean_page', text: PAGE, values: [1, limit] });
      return result.rows[0] ? pageJson(reference, result.rows[0]) : '[]';
    },
    end: () => pool.end(),
  };
}

type Reference = ReadonlyMap<string, string>;

function transferJson(reference: Reference, row: Row): string {
  const account = accountJson(reference, row['account']!);
  const { recipient, remittance, transfers } = row;
  const siblings = (transfers as Values[]).map((values) =>
    movementJson(values, values[9] === null ? account : accountJson(reference, values[9] as Values), ''),
  );
  const transaction = transactionJson(row['transaction']!, remittance && remittanceJson(remittance), siblings);
  return movementJson(
    row['transfer']!,
    account,
    moreEdges(recipient && recipientJson(reference, recipient), transaction),
  );
}

/** Composes each row once. */
function pageJson(reference: Reference, row: PageRow): string {
  const { page, transfers, accounts, transactions, remittances, recipients } = row;
  const textById = (rows: readonly Values[] | null | undefined, json: (values: Values) => string) =>
    new Map((rows ?? []).map((values) => [values[0], json(values)]));
  const account = textById(accounts, (values) => accountJson(reference, values));
  const recipient = textById(recipients, (values) => recipientJson(reference, values));
  const remittance = textById(remittances, ([, values]) => remittanceJson(values as Values));
  const siblings = new Map<unknown, string[]>();
  for (const values of transfers ?? []) {
    const json = movementJson(values, account.get(values[10])!, '');
    const all = siblings.get(values[9]);
    if (all) all.push(json);
    else siblings.set(values[9], [json]);
  }
  const transaction = textById(transactions, (values) =>
    transactionJson(values, remittance.get(values[0]), siblings.get(values[0]) ?? []),
  );
  const transfer = new Map((transfers ?? []).map((values) => [values[0], values]));
  const items = (page ?? []).map(([id, transactionId, recipientId]) => {
    const values = transfer.get(id)!;
    return movementJson(
      values,
      account.get(values[10])!,
      moreEdges(recipient.get(recipientId), transaction.get(transactionId)!),
    );
  });
  return `[${items.join(',')}]`;
}

const moreEdges = (recipient: string | null | undefined, transaction: string) =>
  `${recipient ? `,"recipient":${recipient}` : ''},"transaction":${transaction}`;

function transactionJson(values: Values, remittance: string | null | undefined, siblings: readonly string[]): string {
  const [id, status, hash, orderId, returnOf, returnedBy, created, updated] = values;
  const tracking = remittance ? `"internationalRemittance":${remittance},` : '';
  return `{${fields({ id, status, hash, orderID: orderId, returnOf, returnedBy })},${times(created, updated)},"edges":{${tracking}"transfers":[${siblings.join(',')}]}}`;
}

function movementJson(values: Values, account: string, moreEdges: string): string {
  const [id, amount, description, direction, type, purpose, feeAmount, created, balance] = values;
  const at = times(created, created);
  const own = fields({ id, amount, description, direction, type, purpose, feeAmount });
  return `{${own},${at},"edges":{"account":${account},"balance":{"id":${String(id)},"amount":${String(balance)},${at}}${moreEdges}}}`;
}

function accountJson(reference: Reference, values: Values): string {
  const [id, name, status, type, alias, code, created, updated, balanceId, balance, balanceAt, currency, product] =
    values;
  const snapshot = `{"id":${String(balanceId)},"amount":${String(balance)},${times(balanceAt, balanceAt)}}`;
  const edges = `"balances":[${snapshot}],"currency":${reference.get(`currency/${String(currency)}`)},"product":${reference.get(`product/${String(product)}`)}`;
  return `{${fields({ id, name, status, type, alias, code })},${times(created, updated)},"edges":{${edges}}}`;
}

function recipientJson(reference: Reference, values: Values): string {
  const [id, name, accountCode, alias, saved, created, updated, bank, currency, beneficiary, data, from, to] = values;
  const edges = [
    ...(bank === null ? [] : [`"bank":${reference.get(`bank/${String(bank)}`)}`]),
    ...(beneficiary === null
      ? []
      : [`"beneficiary":{"id":${String(beneficiary)},"data":${JSON.stringify(data)},${times(from, to)}}`]),
    ...(currency === null ? [] : [`"currency":${reference.get(`currency/${String(currency)}`)}`]),
  ];
  return `{${fields({ id, name, accountCode, alias, saved })},${times(created, updated)},"edges":{${edges.join(',')}}}`;
}

function remittanceJson([id, created, updated, events]: Values): string {
  const all = ((events ?? []) as Values[]).map(
    ([event, status, message, reasonCode, at, last]) =>
      `{${fields({ id: event, status, message, reasonCode })},"createdAt":"${time(at)}","lastUpdatedAt":"${time(last)}"}`,
  );
  return `{"id":${String(id)},${times(created, updated)},"edges":{"events":[${all.join(',')}]}}`;
}

function fields(values: Readonly<Record<string, unknown>>): string {
  let text = '';
  for (const name in values) {
    const value = values[name];
    if (value !== null) text += `${text && ','}"${name}":${typeof value === 'number' ? value : JSON.stringify(value)}`;
  }
  return text;
}
const times = (created: unknown, updated: unknown) => `"createdAt":"${time(created)}","updatedAt":"${time(updated)}"`;

/** `2026-11-21T09:30:00.5+00:00` of json_build_array with the six digits of the service. */
function time(value: unknown): string {
  const text = String(value);
  return `${text.slice(0, 19)}.${text.slice(20, text.indexOf('+', 19)).padEnd(6, '0')}Z`;
}
