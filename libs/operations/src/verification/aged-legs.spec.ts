import type { TransferAmount } from '@banking/domain';
import type { SqlStatement } from '@banking/postgres';
import { PlanProbe } from '@banking/postgres/testing';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
import { READ_PAYMENTS } from '../worker/start-banking-worker.js';
import { ORDER_CHECKS } from './verify-orders.js';
import { CROSSING_CHECKS, DEPARTED, NOT_ARRIVED } from './verify-payees.js';
import { REFERENCE_CHECK } from './verify-payments.js';

const TRANSACTIONS = 20_000;

let given: OrderWorld;
/** The last transaction and the last execution of the demo data and of the payments of this spec. */
let last: number;
/** The values of the payment that arrived in another workspace, as `NOT_ARRIVED` has them. */
let arrived: string;
const probes: Record<string, PlanProbe> = {};

/** Statements over a range of keys that read legs. */
const RANGES = [...ORDER_CHECKS, ...CROSSING_CHECKS, REFERENCE_CHECK]
  .flatMap(({ over }) => Object.values(over) as SqlStatement<unknown>[])
  .concat(DEPARTED)
  .filter(({ text }) => /\b(?:from|join) leg\b/.test(text) && !text.includes('$4'));

const valuesOf = (name: string): string => {
  const { ada } = given;
  if (name === READ_PAYMENTS.name) return `array[${ada.workspaceId}]::bigint[], array[${last}]::bigint[]`;
  if (name !== NOT_ARRIVED.name) return `${ada.workspaceId}, 0, ${last}`;
  return arrived;
};

async function costs(): Promise<Readonly<Record<string, number>>> {
  const found: Record<string, number> = {};
  for (const [name, probe] of Object.entries(probes)) {
    const { buffers, filtered } = await probe.cost(valuesOf(name), [given.ada.workspaceId, given.eve.workspaceId]);
    found[name] = buffers + filtered;
  }
  return found;
}

beforeAll(async () => {
  given = await orderWorld();
  const { ada, eve, world } = given;
  const [from, to] = [await given.account(1, '1000000'), await given.account(1, '0', eve)];
  await given.service.placeOrder(ada, given.order(from, await given.near(to, ada, eve)), given.key());
  const abroad = { amount: '250000' as TransferAmount, purposeCode: 'IR001' };
  const recipient = world.demo.recipients['international'] as never;
  await given.service.placeOrder(ada, given.order(from, recipient, abroad), given.key());
  const { rows } = await world.owner.query<{ last: number }>(
    'select greatest((select max(id) from transaction), (select max(id) from execution))::int as last',
  );
  last = rows[0]!.last;
  for (const one of RANGES) probes[one.name] = await PlanProbe.open(world, one, 'bigint, bigint, bigint');
  probes[READ_PAYMENTS.name] = await PlanProbe.open(world, READ_PAYMENTS, 'bigint[], bigint[]');
  const types = 'bigint[], bigint[], text[], int[], bigint[], timestamptz[], int[]';
  probes[NOT_ARRIVED.name] = await PlanProbe.open(world, NOT_ARRIVED, types);
  const { rows: credits } = await world.owner.query<{ values: string }>(
    `select format('array[%s::bigint], array[%s::bigint], array[%L], array[%s], array[%s::bigint], array[%L::timestamptz], array[1]',
                   workspace_id, account_id, type, currency_id, amount, created_at) as values
     from transfer where workspace_id = $1 and account_id = $2`,
    [eve.workspaceId, to],
  );
  arrived = credits[0]!.values;
});
afterAll(async () => {
  for (const probe of Object.values(probes)) await probe.close();
  await given.world.close();
});

it('reads no more of a few payments when there are very many others', async () => {
  const before = await costs();
  const { ada, eve, world } = given;
  await world.owner.query('set session_replication_role = replica');
  for (const { workspaceId } of [ada, eve]) {
    await world.owner.query(
      `with made as (
         insert into transaction (workspace_id, status, hash)
         select $1, 'completed', decode(repeat('0', 64), 'hex') from generate_series(1, $2::int) returning id)
       insert into transfer (workspace_id, transaction_id, account_id, currency_id, direction, amount, type, account_version, balance_after, own_legs)
       select $1, m.id, a.id, a.currency_id, 'debit', 1, 'internal', 1000 + m.id, 1,
              array[row(nextval('transfer_id_seq'), o.id, o.currency_id, 'internal', 1)::own_leg]
       from made m, (select * from account where workspace_id = $1 and kind = 'customer' order by id limit 1) a,
         (select * from account where workspace_id = $1 and kind = 'interworkspace' order by id limit 1) o`,
      [workspaceId, TRANSACTIONS],
    );
  }
  await world.owner.query('set session_replication_role = origin');
  await world.owner.query('analyze transaction, transfer');

  const grown = Object.entries(await costs()).filter(([name, cost]) => cost > 2 * before[name]! + 100);

  expect(RANGES.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['verify_departed', 'verify_fees', 'verify_converted']),
  );
  expect(grown.map(([name, cost]) => `${name}: ${before[name]} to ${cost}`)).toEqual([]);
});
