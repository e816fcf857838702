import type { Control } from './control.js';

const LOCK = 'libs/ledger/src/lock-and-read.ts';
const TRIGGER = 'libs/ledger/migrations/0069-no-floors.sql';

/** Faults in the locks, balances and constraints of the books. */
export const BOOKS_CONTROLS: readonly Control[] = [
  {
    name: 'check-without-lock',
    promise: 'P2',
    plants:
      'A posting reads the balances without a lock, and the database accepts a transfer that does not continue its account.',
    changes: [
      {
        file: LOCK,
        from: '     order by a.workspace_id, a.id\n     ${lock}`',
        to: '     order by a.workspace_id, a.id`',
      },
      { file: TRIGGER, from: '      and a.version = s.first_version - 1\n', to: '' },
      {
        file: TRIGGER,
        from: '      and a.balance = s.balance_before and s.balance_before = s.balance_before_max\n',
        to: '',
      },
      {
        file: 'libs/ledger/migrations/0043-key-of-transfers.sql',
        from: 'drop index transfer_of_transaction;',
        to: 'drop index transfer_of_transaction, transfer_version;',
      },
    ],
    caughtBy: [
      {
        spec: 'libs/ledger/src/post-together.spec.ts',
        test: 'concurrent postings spend no more than the account holds',
        message: 'Expected length: 25',
      },
    ],
  },
  {
    name: 'lock-left-out',
    promise: 'P2',
    plants: 'A posting reads the balances without a lock.',
    changes: [
      {
        file: LOCK,
        from: '     order by a.workspace_id, a.id\n     ${lock}`',
        to: '     order by a.workspace_id, a.id`',
      },
    ],
    caughtBy: [{ spec: 'libs/ledger/src/lock-and-read.spec.ts', test: 'lockAndRead reads after it has locked' }],
  },
  {
    name: 'read-before-lock',
    promise: 'P2',
    plants: 'A posting reads keys, orders and quotes before it has locked the accounts.',
    changes: [
      {
        file: LOCK,
        from: '  const [locked, [clock], ...rows] = (await tx.pipeline([lock, bind(READ_CLOCK), ...reads])) as [',
        to: `  const early = await tx.pipeline(reads);
  const [locked, [clock], ...rows] = [...(await tx.pipeline([lock, bind(READ_CLOCK)])), ...early] as unknown as [`,
      },
    ],
    caughtBy: [{ spec: 'libs/ledger/src/lock-and-read.spec.ts', test: 'lockAndRead reads after it has locked' }],
  },
  {
    name: 'unordered-locks',
    promise: 'P12',
    plants: 'A posting locks accounts in the order of its proposals instead of the order of their ids.',
    changes: [
      { file: LOCK, from: '[]) u(w, i) on (', to: '[]) with ordinality u(w, i, n) on (' },
      { file: LOCK, from: '     order by a.workspace_id, a.id\n', to: '     order by u.n\n' },
    ],
    caughtBy: [
      {
        spec: 'libs/ledger/src/lock-and-read.spec.ts',
        test: 'locks in the order of ids, also if a proposal names a later account first',
      },
    ],
  },
  {
    name: 'overdrafts-not-refused',
    promise: 'P2',
    plants: 'The decision on a transfer lets a balance fall below zero.',
    changes: [
      {
        file: 'libs/ledger/src/decide.ts',
        from: "  if (balance < 0n) throw refuse('insufficient_funds');\n",
        to: '',
      },
    ],
    caughtBy: [
      { spec: 'libs/ledger/src/decide.spec.ts', test: 'any batch on any accounts leaves no account below zero' },
    ],
  },
  {
    name: 'sums-not-checked',
    promise: 'P9',
    plants: 'The database accepts a transaction whose transfers do not add up to zero.',
    changes: [
      {
        file: TRIGGER,
        from: "having sum(case direction when 'credit' then amount else -amount end) <> 0",
        to: 'having false',
      },
    ],
    caughtBy: [
      {
        spec: 'libs/ledger/src/transfer-constraints.spec.ts',
        test: 'are rejected where there is one side only',
      },
    ],
  },
  {
    name: 'balance-trigger-dropped',
    promise: 'P9',
    plants: 'The trigger that moves balances and checks transfers is missing.',
    changes: [
      {
        file: 'libs/ledger/migrations/0001-books.sql',
        from: `create trigger move_balances after insert on transfer
  referencing new table as fresh for each statement execute function move_balances();
`,
        to: '',
      },
    ],
    caughtBy: [{ spec: 'libs/ledger/src/post.spec.ts', test: 'a batch with refusals posts the others in their order' }],
  },
  {
    name: 'references-not-checked',
    promise: 'P9',
    plants: 'The database takes transfers that name an account or a transaction that does not exist.',
    changes: [
      {
        file: 'libs/ledger/migrations/0040-fewer-writes-of-a-posting.sql',
        from: `create trigger references_exist after insert on transfer
  referencing new table as fresh for each statement execute function require_references_of_transfer();`,
        to: '',
      },
    ],
    caughtBy: [
      {
        spec: 'libs/operations/src/orders/references.spec.ts',
        test: 'transfers are rejected if one of them has a transaction that does not exist',
      },
    ],
  },
  {
    name: 'transfers-can-change',
    promise: 'P9',
    plants: 'The trigger that refuses changes of booked transfers is missing.',
    changes: [
      {
        file: 'libs/ledger/migrations/0001-books.sql',
        from: 'create trigger append_only before update or delete on transfer for each row execute function refuse_change();\n',
        to: '',
      },
    ],
    caughtBy: [
      {
        spec: 'libs/ledger/src/record-constraints.spec.ts',
        test: 'fails where a query edits a transfer',
      },
    ],
  },
  {
    name: 'return-booked-twice',
    promise: 'P9',
    plants: 'A rejection that is reported twice returns the money twice.',
    changes: [
      {
        file: 'libs/payouts/src/decide-rail-events.ts',
        from: `  if (status !== 'pending') return { effect: status === 'failed' ? 'repeated' : 'late', posted: [], recorded };
`,
        to: '',
      },
      {
        file: 'libs/payouts/src/decide-rail-events.ts',
        from: "    proposal && states[index]?.status === 'pending' ? [proposal] : [],",
        to: '    proposal ? [proposal] : [],',
      },
      {
        file: 'libs/operations/migrations/0009-statements.sql',
        from: 'create unique index transaction_returned_once',
        to: 'create index transaction_returned_once',
      },
    ],
    caughtBy: [
      {
        spec: 'libs/payouts/src/record-rail-event.spec.ts',
        test: 'is returned once for repeated rejections, at once or later',
      },
    ],
  },
  {
    name: 'rounding-up',
    promise: 'P25',
    plants: 'A conversion rounds the arriving amount up, and the database accepts it.',
    changes: [
      {
        file: 'libs/operations/src/payments/rounding.ts',
        from: "export const CONVERSION_ROUNDING: Rounding = 'down';",
        to: "export const CONVERSION_ROUNDING: Rounding = 'up';",
      },
    ],
    caughtBy: [
      {
        spec: 'libs/operations/src/payments/conversions-gain-nothing.spec.ts',
        test: 'return no more than was paid, in any number and order',
      },
    ],
  },
];
