import { OPERATOR, World } from './testing/world.js';

const world = new World();
let north: string;

beforeAll(async () => {
  await world.openDemo();
  const { workspaces } = await world.json<{ workspaces: Record<string, number> }>('demo');
  north = String(workspaces['Northwind Trading']);
});
afterAll(() => world.close());

/** A recipient without payments. */
async function recipient(name: string): Promise<string> {
  const [row] = await world.query(
    `insert into recipient (workspace_id, kind, name, account_code, alias, currency_id) values ($1, 'internal', $2, $2, $2, 978) returning id`,
    north,
    name,
  );
  return String(row!['id']);
}

const erase = (...args: readonly string[]) => world.run(['personal-data', 'erase', ...args]);
const inNorth = (id: string) => ['--recipient', id, '--workspace', north] as const;
const trail = async (operation: string) =>
  world.query(
    `select e ->> 'resourceType' as type, e ->> 'resourceId' as id, e -> 'actor' ->> 'name' as by from audit_outbox o,
     jsonb_array_elements(o.entries) e where e ->> 'operation' = $1
     union all select resource_type, resource_id::text, actor ->> 'name' from audit_event where operation = $1`,
    operation,
  );

describe('banking personal-data erase', () => {
  it('makes a recipient pseudonyms once, tells what it erased, and leaves the values out of the audit trail', async () => {
    const id = await recipient('Quxqa');

    const dry = await erase(...inNorth(id), '--dry-run');
    expect(dry.stdout).toBe(
      `Would erase the personal data of recipient ${id} of workspace ${north}; rows by table: recipient 1.\n`,
    );
    const first = await erase(...inNorth(id));
    expect(first.stdout).toBe(
      `Erased the personal data of recipient ${id} of workspace ${north}; rows by table: recipient 1.\n`,
    );
    const second = await erase(...inNorth(id));
    expect(second.stdout).toBe(`Nothing is left to erase of recipient ${id} of workspace ${north}.\n`);

    const rows = await world.query(
      'select name, account_code as code, alias, person_salt from recipient where id = $1',
      id,
    );
    expect(rows).toEqual([{ name: `erased-${id}`, code: `erased-${id}`, alias: null, person_salt: null }]);
    expect(await trail('erasePersonalData')).toEqual([{ type: 'recipient', id, by: OPERATOR }]);
  });

  it('refuses a recipient with a recent payment, and states why', async () => {
    const [paid] = await world.query(
      `select t.recipient_id as id from transfer t join transaction x on x.id = t.transaction_id
       where x.status = 'completed' and t.workspace_id = $1 and t.recipient_id is not null limit 1`,
      north,
    );

    const { exitCode, stderr } = await erase(...inNorth(String(paid!['id'])));

    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('- A payment is younger than PAYMENTS_KEPT_DAYS.')]);
  });

  it('erases the e-mail and the subjects of a user without roles, also from the trail of the directory', async () => {
    const email = 'quxqb@northwind.example';
    await world.run([
      'user',
      'add',
      email,
      '--app',
      'Northwind Treasury',
      '--issuer',
      'https://id.example',
      '--subject',
      'quxqb',
    ]);
    await world.run(['grant', 'add', email, '--workspace', north, '--role', 'member']);
    expect((await erase('--email', email)).stderr).toContain('- The user has roles in workspaces.');
    await world.run(['grant', 'remove', email, '--workspace', north]);

    const { stdout } = await erase('--email', email);

    expect(stdout).toMatch(
      /^Erased the personal data of user \d+; rows by table: app_user 1, user_identity 1, directory_change \d+\.$/m,
    );
    expect(await world.query(`select from directory_change d where to_jsonb(d)::text like '%quxqb%'`)).toEqual([]);
    expect((await world.run(['verify'])).exitCode).toBe(0);
  });

  it('keeps a recipient while a request to change it is open, and erases the request with it', async () => {
    const id = await recipient('Quxqe');
    const request = JSON.stringify({ input: { recipientId: Number(id), alias: 'Quxqe' }, shown: { name: 'Quxqe' } });
    const [asked] = await world.query(
      `insert into approval (workspace_id, id, operation, operations, request, request_salt, digest, requirements, makers)
       select $1, nextval('approval_id_seq'), 'changeRecipient', 'recipients', $2, s.salt, salted_digest(s.salt, array[$2]), '[{}]', '{}'
       from (select uuid_send(gen_random_uuid()) as salt) s returning id, digest`,
      north,
      request,
    );
    const approval = String(asked!['id']);
    expect((await erase(...inNorth(id))).stderr).toContain('- A request for approvals is open.');
    await world.query(`update approval set status = 'rejected' where id = $1`, approval);
    expect((await erase('--approval', approval, '--workspace', north)).stderr).toContain(
      '- The request is of a recipient.',
    );

    const { stdout } = await erase(...inNorth(id));

    expect(stdout).toContain('rows by table: approval 1, recipient 1.');
    const rows = await world.query(
      'select request::jsonb as request, request_salt, digest from approval where id = $1',
      approval,
    );
    expect(rows).toEqual([
      { request: { input: { recipientId: Number(id) }, shown: {} }, request_salt: null, digest: asked!['digest'] },
    ]);
  });

  it('erases the invitations to an address that is no user, when they are closed', async () => {
    const email = 'quxqd@harbour.example';
    const [invited] = await world.query(
      `insert into member (workspace_id, email, roles, code_hash, expires_at, invited_by)
       values ($1, $2, '{viewer}', sha256('code'), now() + interval '1 day', 1) returning id`,
      north,
      email,
    );
    expect((await erase('--email', email)).stderr).toContain('- An invitation is open.');
    await world.query(`update member set roles = null, code_hash = null, expires_at = null where email = $1`, email);

    const { stdout } = await erase('--email', email);

    const id = String(invited!['id']);
    expect(stdout).toBe(`Erased the personal data of invitation ${id}; rows by table: member 1.\n`);
    expect(await world.query('select email from member where id = $1', id)).toEqual([
      { email: `erased-invitation-${id}@erased.invalid` },
    ]);
    expect((await erase('--email', email)).stderr).toContain('No user has or had this e-mail, and no invitation.');
  });

  it('erases and exports with a person the requests that name it, also where it was never a member', async () => {
    const email = 'quxqf@harbour.example';
    const ask = async (status: string) => {
      const request = JSON.stringify({ input: { email: 'Quxqf@Harbour.example', roles: ['viewer'] }, shown: {} });
      const [asked] = await world.query(
        `insert into approval (workspace_id, id, operation, operations, request, request_salt, digest, requirements, makers, status)
         select $1, nextval('approval_id_seq'), 'inviteMember', 'members', $2, s.salt, salted_digest(s.salt, array[$2]), '[{}]', '{}', $3
         from (select uuid_send(gen_random_uuid()) as salt) s returning id`,
        north,
        request,
        status,
      );
      return String(asked!['id']);
    };
    await ask('rejected');
    const open = await ask('required');

    expect((await erase('--email', email)).stderr).toContain('- A request for approvals is open.');
    expect((await world.run(['personal-data', 'export', '--email', email])).stdout.match(/Quxqf@/g)).toHaveLength(2);
    await world.query(`update approval set status = 'withdrawn' where id = $1`, open);
    await world.run(['user', 'add', email, '--app', 'Northwind Treasury']);
    const { stdout } = await erase('--email', email);

    expect(stdout).toMatch(/^Erased the personal data of user \d+; rows by table: approval 2, /);
    expect(await world.query(`select from approval where request ilike '%quxqf%'`)).toEqual([]);
    expect((await erase('--email', email)).stderr).toContain('No user has or had this e-mail, and no invitation.');
  });

  it.each([
    [['--recipient', '1'], /'--workspace <id>' is needed/],
    [[], /one of the options '--recipient', '--deposit', '--approval', '--user' and '--email' is needed/],
    [['--user', '1', '--email', 'a@b.example'], /cannot be used with option/],
  ])('refuses the arguments %j', async (args, message) => {
    expect(await erase(...args)).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(message) as string });
  });

  it('refuses an id that there is not', async () => {
    expect(await erase(...inNorth('999999'))).toMatchObject({
      exitCode: 1,
      stderr: `There is no recipient 999999 of workspace ${north}.\n`,
    });
  });
});

describe('banking personal-data export', () => {
  it('writes each row that holds personal data, without salts, and notes it in the audit trail', async () => {
    const id = await recipient('Quxqc');

    const { stdout } = await world.run(['personal-data', 'export', ...inNorth(id)]);

    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { table: string; row: object });
    expect(lines).toEqual([
      { table: 'recipient', row: expect.objectContaining({ id: Number(id), name: 'Quxqc' }) as object },
    ]);
    expect(stdout).not.toContain('salt');
    expect(await trail('exportPersonalData')).toContainEqual({ type: 'recipient', id, by: OPERATOR });
  });

  it('writes a user with its subjects', async () => {
    const { stdout } = await world.run(['personal-data', 'export', '--email', 'ada@northwind.example']);

    expect(stdout).toContain('"table":"app_user"');
    expect(stdout).toContain('"email":"ada@northwind.example"');
  });
});
