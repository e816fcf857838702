import { World } from './testing/world.js';

const world = new World();
const EMAIL = 'mia@harbour.example';
const RENAMED = 'mia.stone@harbour.example';

beforeAll(async () => {
  await world.openDemo();
  await world.query(`
    with late as (
      insert into remittance_event (workspace_id, remittance_id, provider_event, status, reason_code)
      select m.workspace_id, m.id, 'late', 'RJCT', 'AC04' from remittance m join transaction x on x.id = m.transaction_id
      where x.status = 'completed' order by x.id limit 1 returning *)
    insert into discrepancy (workspace_id, transaction_id, kind, event_id)
    select m.workspace_id, m.transaction_id, 'credited_then_rejected', late.id from late join remittance m on m.id = late.remittance_id`);
  await world.query(`
    insert into work (workspace_id, kind, subject_id, parked_at, reason) values (1, 'other', 5, now(), 'it failed'), (1, 'other', 6, null, null)`);
  await world.query(`update work set due_at = '2020-01-01' where kind = 'other' and subject_id = 6`);
  await world.query(
    `insert into sandbox_rail_payment (key, amount, currency) values ('payout-1-777777-0123456789ab', 100, 'EUR')`,
  );
  await world.query(`update customer_order set paused_at = now(), pause_reason = 'payouts_rejected'
    where id = (select min(id) from customer_order where type = 'recurring' and status = 'active')`);
  await world.query(`
    with endpoint as (
      insert into webhook_endpoint (workspace_id, url, sealed_secret, cursor_event_id) values (1, 'https://hooks.example', '', 0) returning *)
    insert into webhook_delivery (workspace_id, endpoint_id, event_type, kind, status)
    select workspace_id, id, 'webhook.test', 'test', 'failed' from endpoint`);
  await world.query(`
    with last as (select max(x.id) as id from transaction x join payout p on p.transaction_id = x.id where x.status = 'completed'),
    due as (update payout p set status = 'due' from last where p.transaction_id = last.id)
    update transaction x set status = 'pending' from last where x.id = last.id`);
  await world.query(`insert into payout_stop (finding_count, workspace_ids, findings) values (1, '{1}', '[]')`);
});
afterAll(() => world.close());

const idOf = async (sql: string) => String((await world.query(sql))[0]?.['id']);
const workspaceId = () => idOf(`select max(id)::int as id from workspace`);
const IN_ONE = ['--workspace', '1'];

/** Commands that write, in the order in which they are tried, and the operation in the audit trail of a workspace. */
const AUDITED: readonly (readonly [
  command: string,
  operation: string,
  args: () => readonly string[] | Promise<readonly string[]>,
])[] = [
  ['workspace add', 'addWorkspace', () => ['Shipping', '--app', 'Haven']],
  ['grant add', 'addGrant', async () => [EMAIL, '--workspace', await workspaceId(), '--role', 'admin']],
  ['user complete', 'completeUser', () => [EMAIL]],
  ['user bind', 'bindUser', () => [EMAIL, '--issuer', 'https://login.harbour.example', '--subject', '4711']],
  ['user suspend', 'suspendUser', () => [EMAIL]],
  ['user resume', 'resumeUser', () => [EMAIL]],
  ['user rename', 'renameUser', () => [EMAIL, RENAMED]],
  ['token', 'issueToken', () => [RENAMED]],
  ['workspace rename', 'renameWorkspace', async () => [await workspaceId(), 'Logistics']],
  ['grant remove', 'removeGrant', async () => [RENAMED, '--workspace', await workspaceId()]],
  [
    'fund',
    'fundAccount',
    async () => [await idOf(`select min(id)::int as id from account where product_id is not null`), '1.00'],
  ],
  ['export', 'exportBooks', () => IN_ONE],
  ['audit export', 'exportAuditTrail', () => IN_ONE],
  [
    'discrepancy resolve',
    'resolveDiscrepancy',
    async () => [await idOf('select id::int from discrepancy'), ...IN_ONE, '--return'],
  ],
  [
    'order resume',
    'resumeOrder',
    async () => [
      await idOf(`select min(id)::int as id from customer_order where type = 'recurring' and status = 'active'`),
      ...IN_ONE,
    ],
  ],
  ['work retry', 'releaseWork', () => ['other', '5', ...IN_ONE]],
  ['work reconcile', 'parkWork', () => ['--apply']],
  [
    'payouts return',
    'returnPayout',
    async () => [
      await idOf(`select transaction_id::int as id from payout where status = 'due'`),
      ...IN_ONE,
      '--note',
      'x',
    ],
  ],
  ['payouts resume', 'resumePayouts', () => []],
  [
    'webhooks retry',
    'retryWebhookDelivery',
    async () => [
      ...IN_ONE,
      ...['--endpoint', await idOf('select id::int from webhook_endpoint')],
      ...['--delivery', await idOf('select id::int from webhook_delivery')],
    ],
  ],
];

/** Commands whose changes belong to no workspace, before and after those above, and the change in the trail of the directory. */
const OF_THE_DIRECTORY = {
  before: [
    ['app add', 'insert app', ['Harbour']],
    ['app rename', 'update app', ['Harbour', 'Haven']],
    ['user add', 'insert app_user', [EMAIL, '--app', 'Haven', '--status', 'pending']],
  ],
  after: [
    ['user remove', 'delete app_user', [RENAMED]],
    ['workspace remove', 'delete workspace', []],
    ['app remove', 'delete app', ['Haven']],
  ],
} as const;

/** Commands without an entry, and the reason. */
const WITHOUT_ENTRY: Readonly<Record<string, string>> = {
  demo: 'what it makes has entries of its users, and of the operator demo',
  story: 'calls the service, as a user',
  migrate: 'changes no data of a workspace; schema_migration lists the migrations',
  ...{
    'cell add': 'changes no workspace',
    'cell move': 'workspace_move has it',
    'cell archive': 'workspace_move has it',
  },
  ...Object.fromEntries(
    [
      'app list',
      'user list',
      'workspace list',
      'cell list',
      'grant list',
      'discrepancy list',
      'work list',
      'events tail',
      'webhooks deliveries',
      'webhooks listen',
    ]
      .concat('verify', 'anchor', 'prove')
      .map((command) => [command, 'only reads']),
  ),
};

/** The commands of a help, without groups. */
async function commandsOf(path: readonly string[] = []): Promise<readonly string[]> {
  const { stdout } = await world.run([...path, '--help']);
  const [, list] = /^Commands:\n((?: {2}.*\n)+)/m.exec(stdout) ?? [];
  if (list === undefined) return [path.join(' ')];
  const names = [...list.matchAll(/^ {2}(\w+)/gm)].map(([, name = '']) => name).filter((name) => name !== 'help');
  const nested = [];
  for (const name of names) nested.push(...(await commandsOf([...path, name])));
  return nested;
}

const run = async (command: string, args: readonly string[]) => {
  const { exitCode, stderr } = await world.run([...command.split(' '), ...args, '--as', 'Rosa']);
  // A reconciliation ends with 1 if an operator must decide a difference.
  return { exitCode: command === 'work reconcile' ? 0 : exitCode, stderr: exitCode === 0 ? '' : stderr };
};
const BY_ROSA = { type: 'operator', name: 'Rosa', operatingSystemUser: expect.stringMatching(/./) as string };

describe('the commands of banking', () => {
  it('take no secret as an argument, which every user of the machine can read', async () => {
    for (const command of await commandsOf()) {
      const { stdout } = await world.run([...command.split(' ').filter(Boolean), '--help']);
      expect([command, stdout.match(/--\S*(?:secret|password|token|credential)(?!\S*-file\b)\S*/g)]).toEqual([
        command,
        null,
      ]);
    }
  });

  it('are all listed here, with an entry or with the reason of none', async () => {
    const listed = [
      ...AUDITED.map(([command]) => command),
      ...[...OF_THE_DIRECTORY.before, ...OF_THE_DIRECTORY.after].map(([command]) => command),
      ...Object.keys(WITHOUT_ENTRY),
    ];

    expect([...(await commandsOf())].sort()).toEqual(listed.sort());
  });

  const writesTrail = async (command: string, change: string, args: readonly string[]) => {
    const given = command === 'workspace remove' ? [await workspaceId()] : args;
    expect(await run(command, given)).toMatchObject({ exitCode: 0, stderr: '' });

    const rows = await world.query(
      `select action || ' ' || relation as change, changed_by as name, operating_system_user as account from directory_change
       order by id desc limit 3`,
    );
    expect(rows).toContainEqual({ change, name: 'Rosa', account: expect.stringMatching(/./) as string });
  };

  it.each(OF_THE_DIRECTORY.before)('write with "%s" the change "%s" to the trail of the directory', writesTrail);

  it.each(AUDITED)(
    'write with "%s" an entry of %s with both names of the operator',
    async (command, operation, args) => {
      const last = await idOf('select coalesce(max(id), 0)::int as id from audit_outbox');
      const ended = await run(command, await args());
      expect(ended).toMatchObject({ exitCode: 0 });

      const entries = await world.query(
        `select e ->> 'operation' as operation, e -> 'actor' as actor
       from audit_outbox cross join jsonb_array_elements(entries) e where id > $1 and e -> 'actor' ->> 'type' = 'operator'`,
        last,
      );
      expect(entries).toEqual([{ operation, actor: BY_ROSA }]);
    },
  );

  it.each(OF_THE_DIRECTORY.after)('write with "%s" the change "%s" to the trail of the directory', writesTrail);
});
