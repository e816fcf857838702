import { Client } from 'pg';
import type { ConnectionOptions } from '@banking/postgres';
import { callConcurrently, type LoadRun, startCpu } from './load.js';

/**
 * A ledger with nothing to it: three tables, rows locked in their order, a balance that is looked at. No row-level security, no
 * foreign keys, no history that is kept from change, no hashes, no recipients, no keys, no answers.
 */
const SCHEMA = `
  create schema minimal;
  create table minimal.account (id bigint primary key, balance bigint not null);
  create table minimal.transfer (
    id bigint generated always as identity primary key, payer_id bigint not null, payee_id bigint not null, amount bigint not null,
    created_at timestamptz not null default now());
  create table minimal.entry (
    id bigint generated always as identity primary key, transfer_id bigint not null, account_id bigint not null,
    amount bigint not null, balance_after bigint not null);
  create function minimal.transfer(payer bigint, payee bigint, moved bigint) returns bigint language plpgsql as $$
  declare
    payer_balance bigint;
    payee_balance bigint;
    made bigint;
  begin
    perform from minimal.account where id in (payer, payee) order by id for update;
    update minimal.account set balance = balance - moved where id = payer and balance >= moved returning balance into payer_balance;
    if not found then raise 'account % does not hold %', payer, moved; end if;
    update minimal.account set balance = balance + moved where id = payee returning balance into payee_balance;
    insert into minimal.transfer (payer_id, payee_id, amount) values (payer, payee, moved) returning id into made;
    insert into minimal.entry (transfer_id, account_id, amount, balance_after)
    values (made, payer, -moved, payer_balance), (made, payee, moved, payee_balance);
    return made;
  end $$;`;

const TRANSFER = { name: 'transfer', text: 'select minimal.transfer($1, $2, $3)' };
const FUNDS = '10000000000000';
const AMOUNT = '5000';

/** Makes the ledger in a schema of its own, in a database that is there. */
export async function makeMinimalLedger(connection: ConnectionOptions, accounts: number): Promise<void> {
  const client = new Client(connection);
  await client.connect();
  try {
    await client.query(SCHEMA);
    await client.query(`insert into minimal.account select id, ${FUNDS} from generate_series(1, ${accounts}) id`);
    await client.query('analyze minimal.account');
  } finally {
    await client.end();
  }
}

/**
 * Transfers between two of its accounts, from so many connections.
 *
 * @param payers how many of its accounts pay, counted from the first
 */
export const transferring =
  (
    connection: ConnectionOptions,
    connections: number,
    accounts: number,
    payers: number,
    postmasterPid: number,
  ): LoadRun =>
  async (seconds) => {
    const clients = Array.from({ length: connections }, () => new Client(connection));
    const transfer = async (client: Client | undefined) => {
      const payer = 1 + Math.floor(Math.random() * payers);
      const payee = 1 + ((payer + Math.floor(Math.random() * (accounts - 1))) % accounts);
      await client?.query({ ...TRANSFER, values: [payer, payee, AMOUNT] });
    };
    try {
      await Promise.all(clients.map((client) => client.connect()));
      // What a connection does but once is not measured.
      await Promise.all(clients.map(transfer));
      const cpuSince = startCpu(process.pid, postmasterPid);
      let transfers = 0;
      const measured = await callConcurrently(connections, seconds, (caller) =>
        transfer(clients[caller]).finally(() => (transfers += 1)),
      );
      return { ...measured, ...cpuSince(transfers) };
    } finally {
      await Promise.all(clients.map((client) => client.end()));
    }
  };
