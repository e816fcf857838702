import type { AppRow, GrantRow, UserRow, WorkspaceRow } from '@banking/operations/provisioning';
import { OPERATOR, World } from './testing/world.js';

const world = new World();

beforeAll(() => world.openDemo());
afterAll(() => world.close());

describe('the commands of the directory', () => {
  const APP = 'Harbour Treasury';
  const MIA = 'mia@harbour.example';

  /** The changes after an entry of the trail, with their actors, oldest first. */
  async function trailSince(id: unknown) {
    const rows = await world.query(
      'select changed_by, relation, action from directory_change where id > $1 order by id',
      id,
    );
    return rows.map(
      ({ changed_by, relation, action }) => `${String(changed_by)}: ${String(action)} ${String(relation)}`,
    );
  }

  async function trailEnd(): Promise<unknown> {
    const [last] = await world.query('select coalesce(max(id), 0) as id from directory_change');
    return last?.id;
  }

  async function refusal(...args: readonly string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await world.run(args);
    expect({ args, exitCode, stdout }).toEqual({ args, exitCode: 1, stdout: '' });
    expect(stderr).not.toMatch(/ at .*:\d+:\d+/);
    return stderr;
  }

  it('add and remove apps, users, workspaces and grants, recorded in lists and audit trail', async () => {
    await world.json('app', 'list');
    const start = await trailEnd();

    const app = await world.json<AppRow>('app', 'add', APP);
    const user = await world.json<UserRow>('user', 'add', 'Mia@Harbour.example', '--app', APP, '--status', 'pending');
    const space = await world.json<WorkspaceRow>('workspace', 'add', 'Shipping', '--app', APP, '--type', 'personal');
    const id = String(space.id);
    await world.json('grant', 'add', MIA, '--workspace', id, '--role', 'member');
    const more = ['--role', 'admin', '--role', 'viewer', 'member'];
    const grants = await world.json<GrantRow[]>('grant', 'add', MIA, '--workspace', id, ...more);

    expect(app).toMatchObject({ name: APP, users: 0, workspaces: 0 });
    expect(user).toMatchObject({ email: MIA, status: 'pending', userType: 'business', apps: [APP], identities: [] });
    expect(space).toMatchObject({ name: 'Shipping', type: 'personal', app: APP });
    const roles = ['member', 'admin', 'viewer'];
    expect(grants).toMatchObject(
      roles.map((role) => ({ email: MIA, role, workspaceId: space.id, workspace: 'Shipping' })),
    );
    expect(await world.json('app', 'list')).toContainEqual({ ...app, users: 1, workspaces: 1 });
    expect(await world.json('user', 'list')).toContainEqual(user);
    expect(await world.json('workspace', 'list')).toContainEqual(space);
    expect(await world.json('grant', 'list', '--workspace', id)).toEqual(grants);

    const removal = ['grant', 'remove', MIA, '--workspace', id];
    expect(await world.json(...removal, '--role', 'admin')).toEqual({
      removed: { email: MIA, workspaceId: space.id, roles: ['admin'] },
    });
    expect(await world.json(...removal)).toEqual({
      removed: { email: MIA, workspaceId: space.id, roles: ['viewer', 'member'] },
    });
    expect(await world.json('workspace', 'remove', id)).toEqual({ removed: space.id });
    expect(await world.json('user', 'remove', MIA)).toEqual({ removed: MIA });
    expect(await world.json('app', 'remove', APP)).toEqual({ removed: APP });

    expect(await trailSince(start)).toEqual([
      `${OPERATOR}: insert app`,
      `${OPERATOR}: insert app_user`,
      `${OPERATOR}: insert app_membership`,
      `${OPERATOR}: insert workspace`,
      `${OPERATOR}: insert member`,
      `${OPERATOR}: insert workspace_role`,
      `${OPERATOR}: insert workspace_role`,
      `${OPERATOR}: insert workspace_role`,
      `${OPERATOR}: delete workspace_role`,
      `${OPERATOR}: delete workspace_role`,
      `${OPERATOR}: delete workspace_role`,
      `${OPERATOR}: delete workspace`,
      `${OPERATOR}: delete member`,
      `${OPERATOR}: delete app_user`,
      `${OPERATOR}: delete app_membership`,
      `${OPERATOR}: delete app`,
    ]);
  });

  it('add a service account by its subject', async () => {
    await world.json('app', 'add', APP);
    const subject = ['--issuer', 'https://login.harbour.example', '--subject', 'payroll'];
    await world.json('user', 'add', 'payroll@harbour.example', '--app', APP, ...subject);

    const users = await world.json<readonly UserRow[]>('user', 'list');
    expect(users.find(({ email }) => email === 'payroll@harbour.example')?.identities).toEqual([
      { issuer: 'https://login.harbour.example', subject: 'payroll' },
    ]);
    expect(await refusal('user', 'add', MIA, '--app', APP, ...subject)).toMatch(/that subject is bound to a user/);
    expect(await refusal('user', 'bind', 'bob@northwind.example', ...subject)).toMatch(/bound to another user/);
    const { stdout } = await world.run(['user', 'bind', 'bob@northwind.example', ...subject.with(-1, '4711')]);
    expect(stdout).toBe('Bound the subject 4711 of https://login.harbour.example to bob@northwind.example.\n');
  });

  it('add an existing user to another app without changing the user', async () => {
    const bob = await world.json<UserRow>('user', 'add', 'bob@northwind.example', '--app', APP);

    expect(bob).toMatchObject({ status: 'completed', apps: ['Northwind Treasury', APP] });
    expect(await refusal('user', 'add', 'bob@northwind.example', '--app', 'Southwind', '--status', 'pending')).toMatch(
      /is a user already, completed and business/,
    );
  });

  it('complete, suspend, resume and rename a user', async () => {
    const lou = 'lou@southwind.example';
    await world.json('user', 'add', lou, '--app', 'Southwind', '--status', 'pending');
    const start = await trailEnd();

    const { stdout } = await world.run(['user', 'complete', lou]);
    expect(stdout).toBe(`The status of ${lou} is now completed.\n`);
    expect(await world.json('user', 'suspend', 'Lou@Southwind.example')).toMatchObject({
      email: lou,
      status: 'suspended',
    });
    const { stdout: list } = await world.run(['user', 'list']);
    expect(list).toMatch(/lou@southwind\.example +suspended +business +Southwind/);
    expect(await refusal('user', 'suspend', lou)).toMatch(
      /^lou@southwind.example is suspended, and only a user who is completed/,
    );
    expect(await world.json('user', 'resume', lou)).toMatchObject({ status: 'completed' });
    const renamed = await world.run(['user', 'rename', lou, 'Lou.Reed@Southwind.example']);
    expect(renamed.stdout).toMatch(
      /^Renamed user \d+ from lou@southwind\.example to lou\.reed@southwind\.example\.\n$/,
    );

    expect(await trailSince(start)).toEqual(Array.from({ length: 4 }, () => `${OPERATOR}: update app_user`));
  });

  it('rename an app and a workspace', async () => {
    await world.json('app', 'add', 'Quay');
    const { id } = await world.json<WorkspaceRow>('workspace', 'add', 'East', '--app', 'Quay');

    const { stdout } = await world.run(['app', 'rename', 'Quay', 'Pier']);
    expect(stdout).toMatch(/^Renamed app \d+ from Quay to Pier\.\n$/);
    expect(await world.run(['workspace', 'rename', String(id), 'West'])).toMatchObject({
      stdout: `Renamed workspace ${id} to West.\n`,
    });

    expect(await world.json('workspace', 'list')).toContainEqual(
      expect.objectContaining({ id, name: 'West', app: 'Pier' }),
    );
    expect(await world.json('app', 'list')).toContainEqual(expect.objectContaining({ name: 'Pier', workspaces: 1 }));
  });

  it('print tables and sentences without --json', async () => {
    const { stdout: list } = await world.run(['workspace', 'list']);
    const { stdout: roles } = await world.run(['grant', 'list', '--workspace', '1']);

    expect(list.split('\n')[0]).toMatch(/^Id +Name +Type +App +Added$/);
    expect(list.split('\n')[1]).toMatch(/^ *1 +Northwind Trading +business +Northwind Treasury +\d{4}-/);
    expect(roles.trimEnd().split('\n')).toHaveLength(8);
  });

  it('escape characters of a name that would steer the terminal or turn the text', async () => {
    await world.query(`insert into app (name) values ('Har' || chr(27) || '[31mbour' || chr(8238))`);

    const { stdout } = await world.run(['app', 'list']);

    expect(stdout).toContain('Har\\x1b[31mbour\\u{202e}');
  });

  it('refuse an impossible change with its reason', async () => {
    expect(await refusal('app', 'add', 'Southwind')).toBe('There is an app named Southwind already.\n');
    expect(await refusal('app', 'remove', 'Nowhere')).toMatch(/^There is no app named Nowhere/);
    expect(await refusal('app', 'remove', 'Southwind')).toMatch(/still has users or workspaces/);
    expect(await refusal('user', 'add', MIA, '--app', 'Nowhere')).toMatch(/^There is no app named Nowhere/);
    expect(await refusal('user', 'add', 'mia', '--app', APP)).toMatch(/^mia is not an e-mail address in ASCII/);
    expect(await refusal('user', 'remove', MIA)).toMatch(/^There is no user mia@harbour.example/);
    expect(await refusal('workspace', 'add', 'Shipping', '--app', 'Nowhere')).toMatch(/^There is no app named Nowhere/);
    expect(await refusal('workspace', 'remove', '1')).toMatch(/kept for ever/);
    expect(await refusal('workspace', 'remove', '987654')).toMatch(/^There is no workspace 987654/);
    expect(await refusal('grant', 'list', '--workspace', '987654')).toMatch(/^There is no workspace 987654/);
    expect(await refusal('grant', 'add', MIA, '--workspace', '1', '--role', 'admin')).toMatch(
      /is not a user of its app/,
    );
    expect(await refusal('grant', 'remove', MIA, '--workspace', '1')).toMatch(/has no role in workspace 1/);
    expect(await refusal('verify', '--workspace', '987654')).toMatch(/^There is no workspace 987654/);
  });
});

describe('the commands of banking', () => {
  const EMAIL = 'mia@harbour.example';
  const RENAMED = 'mia.stone@harbour.example';
  let helps: ReadonlyMap<string, string>;

  beforeAll(async () => {
    helps = await helpsOf();
    await world.query(`
    with late as (
      insert into remittance_event (workspace_id, transaction_id, provider_event, status, reason_code)
      select p.workspace_id, p.transaction_id, 'late', 'RJCT', 'AC04' from payout p join transaction x on x.id = p.transaction_id
      where x.status = 'completed' order by x.id limit 1 returning *)
    insert into discrepancy (workspace_id, transaction_id, kind, event_id)
    select late.workspace_id, late.transaction_id, 'credited_then_rejected', late.id from late`);
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

  const idOf = async (sql: string) => String((await world.query(sql))[0]?.['id']);
  const workspaceId = () => idOf(`select max(id)::int as id from workspace`);
  const IN_ONE = ['--workspace', '1'];
  /** A deposit that a funding of an account posted. */
  const unmatched = (account: string) =>
    idOf(`insert into deposit (workspace_id, account_id, currency_id, amount, status, payer, entry_id, transaction_id)
      select workspace_id, account_id, currency_id, amount, 'unmatched', '{}', id, transaction_id from transfer
      where account_id = ${account} and type = 'funding'
        and transaction_id not in (select d.transaction_id from deposit d where d.transaction_id is not null)
      order by id desc limit 1 returning id::int`);

  /** Commands that write, in the order in which they are tried, and the operation in the audit trail of a workspace. */
  const AUDITED: readonly (readonly [
    command: string,
    operation: string,
    args: () => readonly string[] | Promise<readonly string[]>,
  ])[] = [
    ['workspace add', 'addWorkspace', () => ['Shipping', '--app', 'Haven']],
    ['grant add', 'addGrant', async () => [EMAIL, '--workspace', await workspaceId(), '--role', 'admin']],
    ['user complete', 'completeUser', () => [EMAIL]],
    ['user bind', 'bindUser', () => [EMAIL, '--issuer', 'https://login.harbour.example', '--subject', '4712']],
    ['user suspend', 'suspendUser', () => [EMAIL]],
    ['user resume', 'resumeUser', () => [EMAIL]],
    ['user rename', 'renameUser', () => [EMAIL, RENAMED]],
    ['token', 'issueToken', () => [RENAMED]],
    ['workspace rename', 'renameWorkspace', async () => [await workspaceId(), 'Logistics']],
    ['workspace set-time-zone', 'setTimeZone', async () => [await workspaceId(), 'Europe/Berlin']],
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
    [
      'deposit assign',
      'assignDeposit',
      async () => {
        const account = await idOf(
          `select min(account_id)::int as id from transfer where workspace_id = 1 and type = 'funding'`,
        );
        return [await unmatched(account), ...IN_ONE, ...['--account', account, '--note', 'x']];
      },
    ],
    [
      'deposit return',
      'returnDeposit',
      async () => {
        const account = await idOf(
          `select max(a.id)::int as id from account a join transfer t on t.account_id = a.id
           where a.workspace_id = 1 and t.type = 'funding' and a.balance >= t.amount`,
        );
        return [await unmatched(account), ...IN_ONE, '--note', 'x'];
      },
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
    ...{
      'rail adapter': 'is a network of its own, with a database of its own',
      'rail check': 'calls an adapter, and reads no database',
    },
    bank: 'moves no money, and has no database',
    ...{
      'operator add': 'adds a login of the database, and no row',
      'request withdraw': 'operator_request has it',
    },
    migrate: 'changes no data of a workspace; schema_migration lists the migrations',
    ...{
      'service-account add': 'service-accounts.spec shows its entry',
      'service-account remove': 'service-accounts.spec shows its entry',
      'key create': 'service-accounts.spec shows its entry',
      'key revoke': 'service-accounts.spec shows its entry',
      'payouts release': 'held-payouts.spec shows its entry',
      'payouts reject': 'held-payouts.spec shows its entry',
      'payouts end-decisions': 'decision_demand has it',
      'personal-data erase': 'personal-data.spec shows its entry',
      'personal-data export': 'personal-data.spec shows its entry',
    },
    'reference apply': 'reference_change has it',
    'reference withdraw': 'reference_change has it',
    ...{
      'cell add': 'changes no workspace',
      'deposit ignore': 'an entry belongs to no workspace: its row has it',
      'cell move': 'workspace_move has it',
      'cell archive': 'workspace_move has it',
    },
    ...Object.fromEntries(
      [
        'app list',
        'user list',
        'service-account list',
        'key list',
        'payouts list',
        'workspace list',
        'cell list',
        'rail list',
        'rail status',
        'grant list',
        'discrepancy list',
        'deposit list',
        'work list',
        'events tail',
        'reconcile',
        'reference list',
        'reference show',
        'request list',
        'request show',
        'webhooks deliveries',
        'webhooks keys',
        'webhooks listen',
      ]
        .concat('verify', 'doctor', 'anchor', 'prove')
        .map((command) => [command, 'only reads']),
    ),
  };

  /** The helps of all commands, without groups. */
  async function helpsOf(path: readonly string[] = []): Promise<ReadonlyMap<string, string>> {
    const { stdout } = await world.run([...path, '--help']);
    const [, list] = /^Commands:\n((?: {2}.*\n)+)/m.exec(stdout) ?? [];
    if (list === undefined) return new Map([[path.join(' '), stdout]]);
    const names = [...list.matchAll(/^ {2}([\w-]+)/gm)].map(([, name = '']) => name).filter((name) => name !== 'help');
    const nested: [string, string][] = [];
    for (const name of names) nested.push(...(await helpsOf([...path, name])));
    return new Map(nested);
  }

  const run = async (command: string, args: readonly string[]) => {
    const { exitCode, stderr } = await world.run([...command.split(' '), ...args]);
    // A reconciliation ends with 1 if an operator must decide a difference.
    return { exitCode: command === 'work reconcile' ? 0 : exitCode, stderr: exitCode === 0 ? '' : stderr };
  };
  const BY_OPERATOR = { type: 'operator', name: OPERATOR, operatingSystemUser: OPERATOR };

  it('take no secret as an argument, which every user of the machine can read', () => {
    for (const [command, help] of helps) {
      expect([command, help.match(/--\S*(?:secret|password|token|credential)(?!\S*-file\b)\S*/g)]).toEqual([
        command,
        null,
      ]);
    }
  });

  it('are all listed here, with an entry or with the reason of none', () => {
    const listed = [
      ...AUDITED.map(([command]) => command),
      ...[...OF_THE_DIRECTORY.before, ...OF_THE_DIRECTORY.after].map(([command]) => command),
      ...Object.keys(WITHOUT_ENTRY),
    ];

    expect([...helps.keys()].sort()).toEqual(listed.sort());
  });

  const writesTrail = async (command: string, change: string, args: readonly string[]) => {
    const given = command === 'workspace remove' ? [await workspaceId()] : args;
    expect(await run(command, given)).toMatchObject({ exitCode: 0, stderr: '' });

    const rows = await world.query(
      `select action || ' ' || relation as change, changed_by as name, operating_system_user as account from directory_change
       order by id desc limit 5`,
    );
    expect(rows).toContainEqual({ change, name: OPERATOR, account: OPERATOR });
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
      expect(entries).toEqual([{ operation, actor: BY_OPERATOR }]);
    },
  );

  it.each(OF_THE_DIRECTORY.after)('write with "%s" the change "%s" to the trail of the directory', writesTrail);
});
