import type { Control } from './control.js';

const POST = 'libs/operations/src/orders/post-orders.ts';
const IN_DOUBT = 'libs/operations/src/idempotency/commit-in-doubt.spec.ts';

/** Faults in keys, commits and batches of orders. */
export const ORDER_CONTROLS: readonly Control[] = [
  {
    name: 'asynchronous-commit',
    promise: 'P4',
    plants:
      'Database transactions commit with synchronous_commit = off, so PostgreSQL acknowledges before it has written its log.',
    changes: [
      {
        file: 'libs/postgres/src/rls-scope.ts',
        from: "set_config('app.user', $2, true)`",
        to: "set_config('app.user', $2, true), set_config('synchronous_commit', 'off', true)`",
      },
    ],
    compiles: ['libs/postgres'],
    caughtBy: [
      {
        spec: 'libs/postgres/src/db-transaction.spec.ts',
        test: 'a database transaction commits durably',
      },
      { run: { promise: 'P4', seed: 21, minutes: 0.5 } },
    ],
  },
  {
    name: 'key-outside-transaction',
    promise: 'P5',
    plants: 'The response of a key is stored in a database transaction of its own, after the order was committed.',
    changes: [
      {
        file: POST,
        from: "import { storeResponses } from '../idempotency/store-responses.js';",
        to: "import { type KeyedResponse, storeResponses } from '../idempotency/store-responses.js';",
      },
      {
        file: POST,
        from: 'interface Written {',
        to: 'const unstored = new WeakMap<object, readonly KeyedResponse[]>();\n\ninterface Written {',
      },
      {
        file: POST,
        from: '      ...(keyed.length === 0 ? [] : [storeResponses(keyed)]),\n',
        to: '',
      },
      {
        file: POST,
        from: '    const entries = auditEntriesOf(decisions);',
        to: '    unstored.set(decisions, keyed);\n    const entries = auditEntriesOf(decisions);',
      },
      {
        file: POST,
        from: '  return Promise.all(decisions.map((decision) => outcomeOf(decision, resources, reference)));',
        to: `  const keyed = unstored.get(decisions) ?? [];
  const scope = { workspaces };
  if (keyed.length > 0) await books.database.transaction(scope, (tx) => tx.commit([storeResponses(keyed)]));
  return Promise.all(decisions.map((decision) => outcomeOf(decision, resources, reference)));`,
      },
    ],
    caughtBy: [
      {
        spec: IN_DOUBT,
        test: 'is refused with `outcome_unknown` if the database stays unreachable, with and without a key',
      },
    ],
  },
  {
    name: 'response-before-commit',
    promise: 'P3',
    plants: 'An order without a key is acknowledged when its rows are written, while COMMIT is still on its way.',
    changes: [
      {
        file: POST,
        from: '  const { decisions, resources } = await books.database.transaction({ workspaces }, async (tx) => {',
        to: `  const written = new Promise<Written>((acknowledge, fail) => books.database.transaction({ workspaces }, async (tx) => {`,
      },
      {
        file: POST,
        from: `    return writeDecisions(tx, decideOrders(locked.context, locked.lockedOrders), locked.accounts, compose, onDecided);
  });`,
        to: `    const isEarly = orders.every((order) => order.kind === 'placement' && order.key === undefined);
    const commit: DbTransaction['commit'] = (bound) => (isEarly ? tx.pipeline(bound!) : tx.commit(bound));
    const early = { pipeline: tx.pipeline.bind(tx), change: tx.change.bind(tx), commit };
    acknowledge(await writeDecisions(early, decideOrders(locked.context, locked.lockedOrders), locked.accounts, compose, onDecided));
    if (isEarly) await tx.commit();
  }).catch(fail));
  const { decisions, resources } = await written;`,
      },
    ],
    caughtBy: [
      {
        spec: IN_DOUBT,
        test: 'is placed once if the connection is lost before the database has read COMMIT, without a key',
      },
    ],
  },
  {
    name: 'key-selected-then-inserted',
    promise: 'P6',
    plants: 'A creation looks its key up without a lock, then inserts it, and ignores a key that is taken.',
    changes: [
      {
        file: 'libs/operations/src/idempotency/create-once.ts',
        from: '`select pg_try_advisory_xact_lock(${LOCK}) as is_locked`',
        to: '`select $1::bigint is not null and $2::text is not null and $3::text is not null as is_locked`',
      },
      {
        file: 'libs/operations/src/idempotency/store-responses.ts',
        from: 'do update set fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at`',
        to: 'do nothing`',
      },
    ],
    caughtBy: [
      {
        spec: 'libs/operations/src/idempotency/create-once.spec.ts',
        test: 'refuses a request while another one with its key is carried out',
      },
    ],
  },
  {
    name: 'key-without-fingerprint',
    promise: 'P7',
    plants: 'A key returns the response of its first request, also for another body.',
    changes: [
      {
        file: 'libs/operations/src/idempotency/key-conflict.ts',
        from: 'fingerprint.equals(first.fingerprint)',
        to: 'fingerprint.length === first.fingerprint.length',
      },
    ],
    caughtBy: [
      {
        spec: 'libs/operations/src/orders/orders.spec.ts',
        test: 'is placed once for twenty concurrent requests with one key',
      },
    ],
  },
  {
    name: 'conflict-as-insufficient-funds',
    promise: 'P13',
    plants: 'A serialization failure that outlasts its retries is reported as insufficient_funds.',
    changes: [
      {
        file: 'libs/postgres/src/failures.ts',
        from: '  if (error instanceof ConnectionLost || isTransient(error)) {',
        to: `  if (error instanceof DatabaseError && error.code === SQLSTATE.serializationFailure) {
    return new Refusal('insufficient_funds', undefined, { cause: error });
  }
  if (error instanceof ConnectionLost || isTransient(error)) {`,
      },
    ],
    caughtBy: [
      {
        spec: 'libs/postgres/src/db-transaction.spec.ts',
        test: 'and then refused as unavailable',
      },
    ],
  },
  {
    name: 'decided-again-after-lost-commit',
    promise: 'P5',
    plants: 'An order whose commit is in doubt is decided again, without a look at what the first attempt left.',
    changes: [
      {
        file: 'libs/operations/src/orders/order-service.ts',
        from: "order.kind === 'placement' && mayExist ? { ...order, mayExist } : order",
        to: "order.kind === 'placement' && mayExist ? { ...order } : order",
      },
    ],
    caughtBy: [
      {
        spec: IN_DOUBT,
        test: 'an order that has used up the balance when its confirmation is lost is returned if it had no key',
      },
    ],
  },
  {
    name: 'keys-deleted-while-posting',
    promise: 'P14',
    plants: 'The deletion of expired keys waits for the keys that a posting replaces, and blocks it in turn.',
    changes: [
      {
        file: 'libs/operations/migrations/0060-expired-keys.sql',
        from: '    for update skip locked) e;\n',
        to: '    for update) e;\n',
      },
    ],
    caughtBy: [
      {
        spec: 'libs/operations/src/idempotency/delete-expired-keys.spec.ts',
        test: 'do not block a batch while one is replaced',
      },
    ],
  },
  {
    name: 'expired-keys-deleted-by-posting',
    promise: 'P14',
    plants: 'A posting that stores a key also deletes the expired keys of its workspace.',
    changes: [
      {
        file: 'libs/operations/src/idempotency/store-responses.ts',
        from: '  `insert into idempotency (workspace_id, operation, key, fingerprint, answer)',
        to: `  \`with deleted as (delete from idempotency i using unnest($1::bigint[], $3::text[]) m(w, k)
     where i.workspace_id = m.w and i.created_at <= statement_timestamp() - interval '30 days' and i.key <> m.k)
   insert into idempotency (workspace_id, operation, key, fingerprint, answer)`,
      },
    ],
    caughtBy: [
      {
        spec: 'libs/operations/src/idempotency/aged-keys.spec.ts',
        test: 'places orders with keys without reading or deleting the expired ones',
      },
    ],
  },
  {
    name: 'batch-broken-by-one-order',
    promise: 'P16',
    plants: 'An order that the database rejects fails all orders of its batch.',
    changes: [
      {
        file: 'libs/postgres/src/bisect.ts',
        from: 'if (!(error instanceof DatabaseError) || items.length < 2) {',
        to: 'if (items.length > 0) {',
      },
    ],
    caughtBy: [
      { spec: IN_DOUBT, test: 'is placed once in a part of a batch that the database rejected' },
      {
        spec: 'libs/postgres/src/bisect.spec.ts',
        test: 'a batch that the database rejects is run in halves until only the bad items fail',
      },
    ],
  },
];
