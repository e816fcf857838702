import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';
import type { ArrivalOutcome, SubmittedCrossing } from './crossing-port.js';

/** A payment with the workspace of its payee. */
export interface Arrival {
  readonly workspaceId: number;
  readonly crossing: SubmittedCrossing;
}

/** An arrival as it is written. */
export interface DecidedArrival extends Arrival {
  readonly outcome: ArrivalOutcome;
  /** The payee's half, if it is accepted. */
  readonly transactionId: number | undefined;
}

interface PayeeRow {
  /** In the list, from 1. */
  readonly position: number;
  readonly account_id: bigint;
  readonly currency_id: number;
}

interface ArrivalRow {
  readonly position: number;
  readonly account_code: string;
  readonly currency_id: number;
  readonly amount: bigint;
  readonly outcome: ArrivalOutcome;
}

const FIND_PAYEES = sqlStatement<PayeeRow>(
  'find_payees',
  `select u.position::int, k.account_id, k.currency_id
   from unnest($1::bigint[], $2::text[]) with ordinality u(workspace_id, code, position)
   join account_code k on k.code = u.code and k.workspace_id = u.workspace_id`,
);
/** The limit keeps the subquery one index search for each key. */
const FIND_ARRIVALS = sqlStatement<ArrivalRow>(
  'find_arrivals',
  `select u.position::int, a.account_code, a.currency_id, a.amount, a.outcome
   from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[]) with ordinality u(workspace_id, origin, transaction, nonce, position)
   cross join lateral (
     select * from arrival r
     where r.workspace_id = u.workspace_id and r.origin_workspace_id = u.origin and r.origin_transaction_id = u.transaction
       and r.key_nonce = u.nonce
     limit 1
   ) a`,
);
/** In the order of the key. Two batches with the same keys wait for each other and cannot deadlock. */
const INSERT_ARRIVALS = sqlStatement(
  'insert_arrivals',
  `insert into arrival (workspace_id, origin_workspace_id, origin_transaction_id, key_nonce, account_code, currency_id, amount, outcome,
     transaction_id)
   select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::int[], $7::bigint[], $8::text[], $9::bigint[])
   order by 1, 2, 3, 4`,
);

/** The accounts of the payees, in their workspaces. */
export const findPayees = (arrivals: readonly Arrival[]): BoundStatement<PayeeRow> =>
  bind(
    FIND_PAYEES,
    arrivals.map(({ workspaceId }) => workspaceId),
    arrivals.map(({ crossing }) => crossing.accountCode),
  );

/** The arrivals that earlier calls have written. */
export const findArrivals = (arrivals: readonly Arrival[]): BoundStatement<ArrivalRow> =>
  bind(FIND_ARRIVALS, ...keyColumns(arrivals));

export function insertArrivals(arrivals: readonly DecidedArrival[]): BoundStatement<unknown>[] {
  if (arrivals.length === 0) return [];
  return [
    bind(
      INSERT_ARRIVALS,
      ...keyColumns(arrivals),
      arrivals.map(({ crossing }) => crossing.accountCode),
      arrivals.map(({ crossing }) => crossing.currencyId),
      arrivals.map(({ crossing }) => crossing.amount.toString()),
      arrivals.map(({ outcome }) => outcome),
      arrivals.map(({ transactionId }) => transactionId ?? null),
    ),
  ];
}

const keyColumns = (arrivals: readonly Arrival[]): [number[], number[], number[], string[]] => [
  arrivals.map(({ workspaceId }) => workspaceId),
  arrivals.map(({ crossing }) => crossing.originWorkspaceId),
  arrivals.map(({ crossing }) => crossing.originTransactionId),
  arrivals.map(({ crossing }) => crossing.keyNonce),
];
