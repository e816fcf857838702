import { KEY_ISSUER, type Refusal, type Scope, type UserId, type WorkspaceId } from '@banking/domain';
import { until } from '@banking/postgres/testing';
import { type CellServer, cellServer } from '../testing/cell-server.js';
import { addWorkspaces, type CellProcess, MIA, startProcess } from '../testing/cell-world.js';

let server: CellServer;
let process: CellProcess;
let ids: Map<string, WorkspaceId>;
let mia: UserId;

beforeAll(async () => {
  server = await cellServer(['b']);
  await server.add('b');
  process = await startProcess(server);
  ids = await addWorkspaces(server, ['home', 'b']);
  mia = (await process.directory.userOf(MIA))!.id;
});
afterAll(async () => {
  await process?.close();
  await server?.close();
});

const as = (name: string): Scope => ({ workspaceId: ids.get(name)!, actor: mia });
const reasonOf = (call: Promise<unknown>) =>
  call.then(
    () => 'done',
    (refusal: Refusal) => refusal.reason,
  );
const found = (keyId: number) => process.directory.userOf({ issuer: KEY_ISSUER, subject: String(keyId) });

describe('service accounts of a deployment with several databases', () => {
  it.each(['home', 'b'])(
    'are made in %s with keys that are found at once, and are changed and deleted',
    async (cell) => {
      const { banking } = process;
      const { resource: account } = await banking.createServiceAccount(as(cell), {
        name: 'Payroll',
        roles: ['member'],
      });
      const name = { serviceAccountId: account.id };
      const { resource: key } = await banking.createServiceAccountKey(as(cell), name);

      expect(account.roles).toEqual(['member']);
      expect(await banking.getServiceAccount(as(cell), name)).toEqual(account);
      expect(await found(key.id)).toMatchObject({ id: account.id, grants: [{ workspaceId: ids.get(cell) }] });
      await process.directory.noteKeyUse(key.id);
      const named = { ...name, keyId: key.id };
      expect((await banking.getServiceAccountKey(as(cell), named)).lastUsedAt).toBeDefined();
      const changed = await banking.changeServiceAccount(as(cell), { ...name, name: 'Wages', roles: ['viewer'] });
      expect(changed).toMatchObject({ name: 'Wages', roles: ['viewer'] });
      expect(await banking.getServiceAccount(as(cell), name)).toEqual(changed);
      await banking.deleteServiceAccount(as(cell), name);
      expect(await found(key.id)).toBeUndefined();
      expect(await reasonOf(banking.getServiceAccount(as(cell), name))).toBe('service_account_not_found');
      expect(await server.query('home', `select from app_user where id = ${account.id}`)).toEqual([]);
    },
  );

  it.each(['home', 'b'])('lose their keys for ever in %s, when an operator removes the last role', async (cell) => {
    const { banking } = process;
    const { resource: account } = await banking.createServiceAccount(as(cell), { name: 'Ended', roles: ['member'] });
    const name = { serviceAccountId: account.id };
    const { resource: key } = await banking.createServiceAccountKey(as(cell), name);

    await server.query('home', `delete from workspace_role where user_id = ${account.id}`);

    await until(async () => (await found(key.id)) === undefined);
    await banking.changeServiceAccount(as(cell), { ...name, roles: ['member'] });
    expect(await found(key.id)).toBeUndefined();
    const told = `select from change_outbox where changes -> 0 ->> 1 = 'key.revoked' and changes -> 0 ->> 2 = '${key.id}'`;
    expect(await server.query(cell, told)).toHaveLength(1);
  });

  it('are as their own database says, where another has rows of a workspace that moves', async () => {
    const { banking } = process;
    const { resource: account } = await banking.createServiceAccount(as('b'), { name: 'Copied', roles: ['member'] });
    const { resource: key } = await banking.createServiceAccountKey(as('b'), { serviceAccountId: account.id });
    const rowOfKey = `from service_account_key where id = ${key.id}`;
    await server.query(
      'home',
      `set session_replication_role = replica;
       insert into service_account (workspace_id, id, name) values (${ids.get('b')}, ${account.id}, 'Copied');
       insert into service_account_key (workspace_id, id, service_account_id, hash)
       values (${ids.get('b')}, ${key.id}, ${account.id}, sha256('key'));
       insert into approval_rules (workspace_id, version, rules, changed_by)
       values (${ids.get('b')}, 1, '[{"operations": "members", "approvals": 1, "roles": ["admin"]}]', null)`,
    );
    const outbox = 'select from change_outbox';
    const before = await server.query('home', outbox);

    // Home has former rules: they decide nothing.
    const { resource: member } = await banking.inviteMember(as('b'), { email: 'm@harbour.example', roles: ['viewer'] });
    expect(await banking.changeMember(as('b'), { memberId: member.id, roles: ['member'] })).toMatchObject({
      roles: ['member'],
    });
    await banking.deleteServiceAccount(as('b'), { serviceAccountId: account.id });

    expect(await server.query('home', `select revoked_at ${rowOfKey}`)).toEqual([{ revoked_at: null }]);
    expect(await server.query('b', `select ${rowOfKey} and revoked_at is not null`)).toHaveLength(1);
    expect(await server.query('home', outbox)).toHaveLength(before.length);
  });

  it('wait for approvals by the rules of a workspace in another database', async () => {
    const { banking } = process;
    const rules = [{ operations: 'serviceAccounts', approvals: 1, roles: ['admin'] }] as const;
    // Another administrator, who could approve.
    await server.query('home', `insert into app_user (email) values ('zoe@harbour.example')`);
    await server.query(
      'home',
      `insert into workspace_role (workspace_id, user_id, role)
       select ${ids.get('b')}, id, 'admin' from app_user where email = 'zoe@harbour.example'`,
    );
    const { version } = await banking.getApprovalRules(as('b'));
    await until(async () => (await reasonOf(banking.replaceApprovalRules(as('b'), { version, rules }))) === 'done');

    const users = `select from app_user where kind = 'service_account' and service_workspace_id = ${ids.get('b')}`;
    const before = await server.query('home', users);

    const pending = await banking.createServiceAccount(as('b'), { name: 'Asked', roles: ['member'] }).catch(String);

    expect(pending).toMatch(/^ApprovalPending/);
    expect((await banking.listServiceAccounts(as('b'))).items.map(({ name }) => name)).not.toContain('Asked');
    expect(await server.query('home', users)).toHaveLength(before.length);
  });

  it('have keys that are refused as unavailable while the workspace is between two databases', async () => {
    const { resource: account } = await process.banking.createServiceAccount(as('home'), {
      ...{ name: 'Moving', roles: ['viewer'] },
    });
    const { resource: key } = await process.banking.createServiceAccountKey(as('home'), {
      serviceAccountId: account.id,
    });
    const set = (state: string) =>
      server.query('home', `update cell_workspace set state = '${state}' where workspace_id = ${ids.get('home')}`);

    await set('moving');
    expect(await reasonOf(found(key.id))).toBe('unavailable');
    await set('open');
    expect(await found(key.id)).toBeDefined();
  });
});
