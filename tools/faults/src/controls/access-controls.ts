import type { Control } from './control.js';

const ISOLATION = 'libs/operations/src/isolation.spec.ts';

/** Faults in isolation, rights, tokens, the log and the interface. */
export const ACCESS_CONTROLS: readonly Control[] = [
  {
    name: 'workspace-filter-dropped',
    promise: 'P21',
    plants: 'The query of a transfer does not name the workspace, so row-level security alone protects it.',
    changes: [
      {
        file: 'libs/operations/src/transfers/get-transfer.ts',
        from: 'where t.workspace_id = $1 and t.id = $2',
        to: 'where ($1::bigint is null or t.workspace_id > 0) and t.id = $2',
      },
    ],
    caughtBy: [{ spec: ISOLATION, test: 'the query of a transfer hides other workspaces by filter without a policy' }],
  },
  {
    name: 'row-level-security-not-forced',
    promise: 'P21',
    plants: 'The owner of the tables is not bound by the policies of account.',
    changes: [
      {
        file: 'libs/ledger/migrations/0020-value-dates.sql',
        from: 'alter table account force row level security;\n',
        to: '',
      },
    ],
    caughtBy: [
      {
        spec: 'libs/deployment/src/catalog.spec.ts',
        test: 'has forced row-level security and a policy if it has a workspace',
      },
    ],
  },
  {
    name: 'policy-without-workspace',
    promise: 'P21',
    plants: 'The policy of transfer shows the rows of every workspace.',
    changes: [
      {
        file: 'libs/ledger/migrations/0001-books.sql',
        from: `create policy workspaces on transfer
  using (workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[]))`,
        to: 'create policy workspaces on transfer\n  using (true)',
      },
    ],
    caughtBy: [
      {
        spec: 'libs/ledger/src/workspace-constraints.spec.ts',
        test: 'reads no rows of transfer of a workspace',
      },
    ],
  },
  {
    name: 'definer-function-callable',
    promise: 'rights',
    plants: 'Every role may call lock_role, which runs with the rights of its owner.',
    changes: [
      {
        file: 'libs/operations/migrations/0029-placers-of-orders.sql',
        from: 'revoke execute on function lock_role(bigint, bigint), trail_order() from public;',
        to: 'grant execute on function lock_role(bigint, bigint) to public;',
      },
    ],
    caughtBy: [
      {
        spec: 'libs/deployment/src/definer-functions.spec.ts',
        test: 'with the rights of the owner are listed, have a fixed search path, and are granted as listed',
      },
    ],
  },
  {
    name: 'role-not-checked',
    promise: 'P21',
    plants: 'A member of a workspace may call the operations of its admins.',
    changes: [
      {
        file: 'apps/api/src/access/access-check.ts',
        from: "  if (!suffices(granted.role, needed)) throw new Refusal('role_insufficient');\n",
        to: '',
      },
    ],
    caughtBy: [
      {
        spec: 'apps/api/src/access/access-check.spec.ts',
        test: 'AccessCheck refuses a role below that of the operation',
      },
    ],
  },
  {
    name: 'cursor-of-another-workspace',
    promise: 'P21',
    plants: 'The signature of a cursor does not cover the workspace, so a cursor of another workspace is accepted.',
    changes: [
      {
        file: 'libs/operations/src/lists/sign-cursor.ts',
        from: 'JSON.stringify([list, workspaceId, names.map',
        to: 'JSON.stringify([list, workspaceId > 0, names.map',
      },
    ],
    caughtBy: [
      {
        spec: 'libs/operations/src/lists/sign-cursor.spec.ts',
        test: 'is refused for another workspace',
      },
    ],
  },
  {
    name: 'algorithms-left-out',
    promise: 'P22',
    plants: 'A token is accepted with every algorithm that fits a key of the issuer.',
    changes: [{ file: 'apps/api/src/access/token-verifier.ts', from: '        algorithms: ALGORITHMS,\n', to: '' }],
    caughtBy: [
      {
        spec: 'apps/api/src/access/token-verifier.spec.ts',
        test: 'refuses the algorithm HS256 without a request for keys',
      },
    ],
  },
  {
    name: 'value-in-the-log',
    promise: 'P31',
    plants: 'The log has the messages of all errors, also of those that quote a value of the request.',
    changes: [
      {
        file: 'libs/process/src/logged-error.ts',
        from: "const quotesValue = NATIVE.has(thrown.name) || DATA_EXCEPTION.test(text(code) ?? '');",
        to: "const quotesValue = NATIVE.has('') || DATA_EXCEPTION.test('');",
      },
    ],
    caughtBy: [
      { spec: 'libs/process/src/logged-error.spec.ts', test: 'replaces a message of JSON.parse that quotes a value' },
    ],
  },
  {
    name: 'retry-after-missing',
    promise: 'P28',
    plants: 'A response with status 503 or 429 has no Retry-After.',
    changes: [
      {
        file: 'apps/api/src/http/refusal.filter.ts',
        from: "    if (hasRetryAfter(refusal)) reply.header('Retry-After', retryAfterOf(refusal));\n",
        to: '',
      },
    ],
    caughtBy: [
      {
        spec: 'apps/api/src/access/access-check.spec.ts',
        test: 'responds 503 with Retry-After if the keys cannot be fetched',
      },
    ],
  },
  {
    name: 'change-sent-again-without-key',
    promise: 'P32',
    plants: 'The client sends a change without a key again, although its first response was lost.',
    changes: [
      {
        file: 'libs/client/src/retry-policy.ts',
        from: "{ matches: ({ error }) => error instanceof ConnectionError, retry: 'repeatable', mayBeExecuted: true }",
        to: "{ matches: ({ error }) => error instanceof ConnectionError, retry: 'always', mayBeExecuted: true }",
      },
    ],
    caughtBy: [
      {
        spec: 'libs/client/src/retries.spec.ts',
        test: 'does not retry a change without a key after',
      },
    ],
  },
];
