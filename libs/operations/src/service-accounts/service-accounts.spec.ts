import { hash } from 'node:crypto';
import {
  idOfKey,
  KEY_ISSUER,
  type ServiceAccount,
  type ServiceAccountId,
  type ServiceAccountKeyId,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { API_ROLE, OPERATOR_ROLE, RULE_VIOLATION } from '@banking/postgres';
import { LedgerDirectory } from '../apps/directory.js';
import { recordAudit } from '../audit/record-audit.js';
import { addGrants, addUser, removeGrants } from '../provisioning/index.js';
import { actorsOf, eventWorld, outcomeOf, stepsOf } from '../testing/event-world.js';
import { verifyPayments } from '../testing/order-world.js';
import { verifyDirectory } from '../verification/verify-trails.js';

let given: Awaited<ReturnType<typeof eventWorld>>;
let { world, service, ada, eve } = {} as typeof given;
let directory: LedgerDirectory;

beforeAll(async () => {
  given = await eventWorld();
  ({ world, service, ada, eve } = given);
  directory = new LedgerDirectory(world.database);
});
afterEach(() => given.expectVerified());
afterAll(async () => {
  while (((await recordAudit(world.database)) ?? 0) > 0);
  const all = Object.values(world.demo.workspaces);
  const findings = [...(await verifyDirectory(world.database, all)), ...(await verifyPayments(world.database, all))];
  await world.close();
  expect(findings).toEqual([]);
});

let names = 0;
const account = async (more: object = {}, by = ada): Promise<ServiceAccount> =>
  (await service.createServiceAccount(by, { name: `Program ${(names += 1)}`, roles: ['member'], ...more })).resource;
const named = ({ id }: Pick<ServiceAccount, 'id'>) => ({ serviceAccountId: id });
const keyOf = async (of: ServiceAccount, more: object = {}) =>
  (await service.createServiceAccountKey(ada, { ...named(of), ...more })).resource;
const found = (id: ServiceAccountKeyId) => directory.userOf({ issuer: KEY_ISSUER, subject: String(id) });

/** The entries of the audit trail for a resource, newest first. */
async function entriesOf(resourceType: string, resourceId: number) {
  while (((await recordAudit(world.database)) ?? 0) > 0);
  const { items } = await service.listAuditEvents(ada, { resourceType, resourceId });
  return items.map(({ operation, actor }) => [operation, actor]);
}

describe('a service account', () => {
  it('is a user without an e-mail, with roles and scopes, in the trails and the events', async () => {
    let created = {} as ServiceAccount;
    const events = await given.eventsOf(async () => {
      created = await account({
        name: 'Payroll',
        roles: ['viewer', 'member'],
        scopes: ['orders:create', 'orders:read'],
      });
    });

    expect(created).toEqual({
      id: created.id,
      name: 'Payroll',
      roles: ['viewer', 'member'],
      scopes: ['orders:create', 'orders:read'],
      createdBy: ada.actor,
      createdAt: expect.stringMatching(/Z$/) as string,
      updatedAt: created.createdAt,
    });
    expect(await service.getServiceAccount(ada, named(created))).toEqual(created);
    expect((await service.listServiceAccounts(ada)).items).toContainEqual(created);
    expect(stepsOf(events)).toEqual(['serviceAccount.created']);
    expect(actorsOf(events)).toEqual(given.byAda);
    const { rows } = await world.owner.query('select kind, email, status from app_user where id = $1', [created.id]);
    expect(rows).toEqual([{ kind: 'service_account', email: null, status: 'completed' }]);
    const byAda = expect.objectContaining({ type: 'user', userID: ada.actor }) as unknown;
    expect(await entriesOf('serviceAccount', created.id)).toEqual([['createServiceAccount', byAda]]);
    expect(await entriesOf('user', created.id)).toEqual([
      ['addGrant', byAda],
      ['addGrant', byAda],
    ]);
  });

  it('is not found by another workspace, and no user of the app', async () => {
    const created = await account();

    expect(await outcomeOf(service.getServiceAccount(eve, named(created)))).toBe('service_account_not_found');
    expect(await outcomeOf(service.changeServiceAccount(eve, { ...named(created), name: 'Mine' }))).toBe(
      'service_account_not_found',
    );
    expect(await outcomeOf(service.deleteServiceAccount(eve, named(created)))).toBe('service_account_not_found');
    expect(await outcomeOf(service.createServiceAccountKey(eve, named(created)))).toBe('service_account_not_found');
    const [app] = await service.listApps(ada);
    const users = await service.listAppUsers(ada, { appId: app!.id });
    expect(users.map(({ id }) => Number(id))).not.toContain(Number(created.id));
  });

  it('is created once for a key of the caller', async () => {
    const options = { idempotencyKey: 'account-once' };
    const input = { name: 'Once', roles: ['viewer'] as const };
    const first = await service.createServiceAccount(ada, input, options);

    expect(await service.createServiceAccount(ada, input, options)).toEqual({ ...first, isReplay: true });
    expect(await outcomeOf(service.createServiceAccount(ada, { ...input, name: 'Other' }, options))).toBe(
      'idempotency_key_reused',
    );
  });

  it('keeps omitted fields when it changes, and says nothing of a change without effect', async () => {
    const created = await account({ roles: ['member'], scopes: ['orders:read'] });
    const change = (fields: object) => service.changeServiceAccount(ada, { ...named(created), ...fields });
    const events = await given.eventsOf(async () => {
      expect(await change({})).toEqual(created);
      expect(await change({ name: created.name, roles: ['member'], scopes: ['orders:read'] })).toEqual(created);
      expect(await change({ name: 'Renamed' })).toMatchObject({ name: 'Renamed', roles: ['member'] });
      expect(await change({ roles: ['viewer'] })).toMatchObject({ name: 'Renamed', roles: ['viewer'] });
      expect(await change({ scopes: [] })).not.toHaveProperty('scopes');
    });

    expect(stepsOf(events)).toEqual(Array(3).fill('serviceAccount.changed'));
  });

  it('loses its keys for ever with its last role, and keeps them when a role replaces another', async () => {
    const created = await account({ roles: ['member'] });
    const key = await keyOf(created);
    const change = (roles: readonly ('viewer' | 'member')[]) =>
      service.changeServiceAccount(ada, { ...named(created), roles });

    await change(['viewer']);
    expect(await found(key.id)).toMatchObject({ id: created.id, grants: [{ roles: ['viewer'] }] });
    const events = await given.eventsOf(() => change([]));
    expect(stepsOf(events).sort()).toEqual(['key.revoked', 'serviceAccount.changed']);
    expect(await outcomeOf(keyOf(created))).toBe('service_account_without_role');
    await change(['member']);

    expect(await found(key.id)).toBeUndefined();
    expect((await service.listServiceAccountKeys(ada, named(created))).items).toEqual([]);
  });

  it('is deleted with its roles and keys, by one event each', async () => {
    const created = await account({ roles: ['viewer', 'member'] });
    const key = await keyOf(created);
    const events = await given.eventsOf(() => service.deleteServiceAccount(ada, named(created)));

    expect(stepsOf(events).sort()).toEqual(['key.revoked', 'serviceAccount.deleted']);
    expect(await found(key.id)).toBeUndefined();
    expect(await outcomeOf(service.deleteServiceAccount(ada, named(created)))).toBe('service_account_not_found');
    expect(await outcomeOf(service.getServiceAccount(ada, named(created)))).toBe('service_account_not_found');
    expect(await outcomeOf(service.listServiceAccountKeys(ada, named(created)))).toBe('service_account_not_found');
    expect((await world.owner.query('select from app_user where id = $1', [created.id])).rows).toEqual([]);
    expect((await entriesOf('serviceAccount', created.id)).map(([operation]) => operation)).toEqual([
      'deleteServiceAccount',
      'createServiceAccount',
    ]);
  });

  it('revokes its valid keys only, because each rotation leaves one that has expired', async () => {
    const [changed, deleted] = [await account(), await account()];
    const former: ServiceAccountKeyId[] = [];
    for (const one of [changed, deleted]) {
      const { id: keyId } = await keyOf(one);
      await service.rotateServiceAccountKey(ada, { ...named(one), keyId, overlapSeconds: 0 });
      former.push(keyId);
    }
    const events = await given.eventsOf(async () => {
      await service.changeServiceAccount(ada, { ...named(changed), roles: [] });
      await service.deleteServiceAccount(ada, named(deleted));
    });

    expect(stepsOf(events).filter((step) => step === 'key.revoked')).toHaveLength(2);
    const { items } = await service.listServiceAccountKeys(ada, named(changed));
    expect(items.map(({ id }) => id)).toEqual([former[0]]);
    expect(await Promise.all(former.map(found))).toEqual([undefined, undefined]);
  });

  it('is one of 50 at most, also of concurrent requests', async () => {
    const { items } = await service.listServiceAccounts(eve);
    const outcomes = await Promise.all(Array.from({ length: 53 - items.length }, () => outcomeOf(account({}, eve))));

    expect(outcomes.filter((outcome) => outcome !== 'done')).toEqual(Array(3).fill('service_account_limit'));
  });

  it('places orders as a user does, is the actor of their events, and its standing orders pause when it is deleted', async () => {
    const created = await account();
    const key = await keyOf(created);
    const program = {
      ...{ workspaceId: ada.workspaceId, actor: Number(created.id) as UserId },
      origin: { keyId: key.id, sourceAddress: '203.0.113.7' },
    };
    const from = await given.account(1, '10000');
    const recipientID = await given.near(await given.account(1, '0'));
    let orderId = 0;
    const events = await given.eventsOf(async () => {
      orderId = (await service.placeOrder(program, given.order(from, recipientID))).resource.id;
    });

    const actor = JSON.stringify({ id: created.id, type: 'serviceAccount' });
    expect(actorsOf(events)).toEqual([actor]);
    expect(await entriesOf('order', orderId)).toEqual([
      ['placeOrder', { type: 'serviceAccount', serviceAccountID: created.id, keyID: key.id }],
    ]);
    const later = { type: 'recurring', repeatUnit: 'daily', repeatValue: 1, startAt: '2040-03-01T09:00:00Z' } as const;
    const { resource } = await service.placeOrder(program, given.order(from, recipientID, later));
    await service.deleteServiceAccount(ada, named(created));
    await service.moveClock(ada, { now: '2040-03-02T09:00:00Z' });
    await given.work();
    const standing = await service.getOrder(ada, { accountId: from, orderId: resource.id });
    expect(standing).toMatchObject({ status: 'active', pauseReason: 'placer_without_role' });
  });
});

describe('a key of a service account', () => {
  it('shows its text once, which the directory finds by its id and hash', async () => {
    const created = await account({ scopes: ['orders:read'] });
    let key = {} as Awaited<ReturnType<typeof keyOf>>;
    const events = await given.eventsOf(async () => {
      key = await keyOf(created, { networks: ['203.0.113.9/24', '2001:db8::1'], expiresAt: '2140-01-01T00:00:00Z' });
    });
    const { secret, ...rest } = key;

    expect(rest).toEqual({
      id: key.id,
      serviceAccountID: created.id,
      networks: ['203.0.113.0/24', '2001:db8::1/128'],
      expiresAt: '2140-01-01T00:00:00.000000Z',
      createdBy: ada.actor,
      createdAt: expect.stringMatching(/Z$/) as string,
    });
    expect(idOfKey(secret!)).toBe(key.id);
    expect(await service.getServiceAccountKey(ada, { ...named(created), keyId: key.id })).toEqual(rest);
    expect((await service.listServiceAccountKeys(ada, named(created))).items).toEqual([rest]);
    expect(await found(key.id)).toEqual({
      id: created.id,
      grants: [{ workspaceId: ada.workspaceId, roles: ['member'], appId: expect.any(Number) as number }],
      key: {
        id: key.id,
        hash: hash('sha256', secret!, 'buffer'),
        networks: rest.networks,
        scopes: ['orders:read'],
        expiresAtMs: Date.parse('2140-01-01T00:00:00Z'),
      },
    });
    expect(stepsOf(events)).toEqual(['key.created']);
    expect(events[0]!.changes).toEqual({ serviceAccountId: Number(created.id) });
  });

  it('shows no text in the replay of its request, because none is stored', async () => {
    const created = await account();
    const options = { idempotencyKey: 'key-once' };
    const first = await service.createServiceAccountKey(ada, named(created), options);
    const again = await service.createServiceAccountKey(ada, named(created), options);
    const { secret, ...key } = first.resource;

    expect([first.isReplay, secret?.startsWith('bank_key_')]).toEqual([false, true]);
    expect(again).toEqual({ resource: key, isReplay: true });
    const { rows } = await world.owner.query<{ answer: string }>(
      `select answer from idempotency where key = 'key-once'`,
    );
    expect(rows.map(({ answer }) => answer).join()).not.toContain('bank_key_');
    const dump = await world.owner.query<{ row: string }>('select k::text as row from service_account_key k');
    expect(JSON.stringify(dump.rows)).not.toContain(secret);
  });

  it.each([
    [{ networks: ['10.0.0.0/33'] }, 'network_invalid'],
    [{ networks: ['fe80::1%eth0'] }, 'network_invalid'],
    [{ networks: ['example.com'] }, 'network_invalid'],
    [{ networks: Array(21).fill('10.0.0.0/8') }, 'network_invalid'],
    [{ expiresAt: 'tomorrow' }, 'timestamp_invalid'],
    [{ expiresAt: '2001-01-01T00:00:00Z' }, 'timestamp_invalid'],
  ])('is refused with %j', async (more, reason) => {
    expect(await outcomeOf(keyOf(await account(), more))).toBe(reason);
  });

  it('is one of 10 at most, and may be rotated then', async () => {
    const created = await account();
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => outcomeOf(keyOf(created))));
    expect(outcomes.filter((outcome) => outcome !== 'done')).toEqual(['key_limit', 'key_limit']);

    const { items } = await service.listServiceAccountKeys(ada, named(created));
    const keyId = items[0]!.id;
    expect(await outcomeOf(service.rotateServiceAccountKey(ada, { ...named(created), keyId }))).toBe('done');
    await service.revokeServiceAccountKey(ada, { ...named(created), keyId });
    await service.revokeServiceAccountKey(ada, { ...named(created), keyId: items[1]!.id });
    expect(await outcomeOf(keyOf(created))).toBe('done');
  });

  it('is revoked once, with an event and an entry, and cannot be rotated then', async () => {
    const created = await account();
    const { id: keyId } = await keyOf(created);
    const name = { ...named(created), keyId };
    const events = await given.eventsOf(() => service.revokeServiceAccountKey(ada, name));

    expect(stepsOf(events)).toEqual(['key.revoked']);
    expect(await found(keyId)).toBeUndefined();
    for (const call of [
      service.revokeServiceAccountKey(ada, name),
      service.getServiceAccountKey(ada, name),
      service.rotateServiceAccountKey(ada, name),
    ]) {
      expect(await outcomeOf(call)).toBe('key_not_found');
    }
    expect((await entriesOf('key', keyId)).map(([operation]) => operation)).toEqual([
      'revokeServiceAccountKey',
      'createServiceAccountKey',
    ]);
  });

  it('stays valid for the overlap of its rotation, and never longer than before', async () => {
    const created = await account();
    const rotate = async (keyId: ServiceAccountKeyId, more: object = {}) =>
      (await service.rotateServiceAccountKey(ada, { ...named(created), keyId, ...more })).resource;
    const first = await keyOf(created, { networks: ['10.0.0.0/8'] });
    const second = await rotate(first.id, { overlapSeconds: 3_600 });
    const third = await rotate(second.id, { overlapSeconds: 0 });
    const endOf = async (keyId: ServiceAccountKeyId) =>
      Date.parse((await service.getServiceAccountKey(ada, { ...named(created), keyId })).expiresAt!);

    expect(second).toMatchObject({ networks: ['10.0.0.0/8'], secret: expect.stringMatching(/^bank_key_/) as string });
    const end = await endOf(first.id);
    expect(end).toBeGreaterThanOrEqual(Date.parse(second.createdAt) + 3_600_000);
    expect(end).toBeLessThanOrEqual(Date.now() + 3_600_000);
    expect(await found(first.id)).toBeDefined();
    expect(await found(second.id)).toBeUndefined();
    expect(await found(third.id)).toBeDefined();
    await rotate(first.id, { overlapSeconds: 86_400 });
    expect(await endOf(first.id)).toBe(end);
  });

  it('notes the minute of its last use', async () => {
    const created = await account();
    const { id: keyId } = await keyOf(created);
    await directory.noteKeyUse(keyId);

    const { lastUsedAt } = await service.getServiceAccountKey(ada, { ...named(created), keyId });
    expect(lastUsedAt).toMatch(/:00\.000000Z$/);
    expect(Math.abs(Date.parse(lastUsedAt!) - Date.now())).toBeLessThan(120_000);
    await directory.noteKeyUse(999_999 as ServiceAccountKeyId);
  });
});

describe('the database', () => {
  const as = async (settings: string, statement: string, role = API_ROLE) => {
    await world.owner.query('begin');
    try {
      await world.owner.query(`set local role ${role}; set local app.workspaces = '{${ada.workspaceId}}'; ${settings}`);
      await world.owner.query(statement);
      return 'done';
    } catch (error) {
      return (error as { readonly code: string }).code;
    } finally {
      await world.owner.query('rollback');
    }
  };
  const by = (user: number) => `select set_config('app.user', '${user}', true)`;
  const addTo = (workspaceId: number, roles: string) =>
    `select add_service_account(${workspaceId}, service_user, 'X', null) from put_service_user(${workspaceId}, null, '${roles}')`;
  const add = (roles: string) => addTo(ada.workspaceId, roles);
  const wrong = RULE_VIOLATION.wrongServiceAccount;

  it('refuses a service account that approves or administers', async () => {
    for (const roles of ['{admin}', '{viewer,approver}']) expect(await as(by(ada.actor), add(roles))).toBe(wrong);
    expect(await as(by(ada.actor), add('{viewer,member}'))).toBe('done');
    const { id } = await account();
    const grant = `insert into workspace_role (workspace_id, user_id, role) values (${ada.workspaceId}, ${id}, 'admin')`;
    expect(await as('', grant, 'banking_provisioning')).toBe(wrong);
    const elsewhere = `insert into workspace_role (workspace_id, user_id, role) values (${eve.workspaceId}, ${id}, 'viewer')`;
    expect(await as(`set local app.workspaces = '{${eve.workspaceId}}'`, elsewhere, 'banking_provisioning')).toBe(
      wrong,
    );
  });

  it('refuses a service account of a person, and one of the user of another one', async () => {
    const [theirs = await account({}, eve)] = (await service.listServiceAccounts(eve)).items;
    const { id } = theirs;
    for (const user of [ada.actor, id]) {
      expect(await as(by(ada.actor), `select add_service_account(${ada.workspaceId}, ${user}, 'X', null)`)).toBe(wrong);
    }
    const put = `select put_service_user(${ada.workspaceId}, ${id}, '{member}')`;
    expect(await as(by(ada.actor), put)).toBe(wrong);
  });

  it('refuses a key of an account that was made before its user, who is a person', async () => {
    const next = await world.owner.query<{ id: bigint }>(`select nextval('app_user_id_seq') + 1 as id`);
    const ofPerson = `select add_service_account(${ada.workspaceId}, ${next.rows[0]!.id}, 'X', null);
      set local role none; set local app.workspaces = '{${ada.workspaceId}}';
      insert into app_user (email) values ('coming@northwind.example');
      insert into workspace_role (workspace_id, user_id, role)
        select ${ada.workspaceId}, id, 'admin' from app_user where email = 'coming@northwind.example';
      set local role ${API_ROLE};
      insert into service_account_key (workspace_id, service_account_id, hash, created_by)
        select ${ada.workspaceId}, id, sha256('key'), ${ada.actor} from app_user where email = 'coming@northwind.example'`;

    expect(await as(by(ada.actor), ofPerson)).toBe(wrong);
  });

  it('refuses a user who does not administer the workspace at that moment', async () => {
    const email = 'short@northwind.example';
    const id = await addUser(world.provisioning, 'ops', { email, app: 'Northwind Treasury' });
    await addGrants(world.provisioning, 'ops', { workspaceId: ada.workspaceId, email, roles: ['member'] });
    const bob = { ...ada, actor: id as UserId };
    const made = await account();

    expect(await outcomeOf(account({}, bob))).toBe('role_insufficient');
    expect(await outcomeOf(service.createServiceAccountKey(bob, named(made)))).toBe('role_insufficient');
    expect(await outcomeOf(service.changeServiceAccount(bob, { ...named(made), roles: ['viewer'] }))).toBe(
      'role_insufficient',
    );
    await addGrants(world.provisioning, 'ops', { workspaceId: ada.workspaceId, email, roles: ['admin'] });
    expect(await outcomeOf(account({}, bob))).toBe('done');
    await removeGrants(world.provisioning, 'ops', { workspaceId: ada.workspaceId, email, roles: ['admin'] });
    expect(await outcomeOf(account({}, bob))).toBe('role_insufficient');
    expect(await as('', add('{viewer}'))).toBe(wrong);
    expect(await as(`set local app.actor_type = 'operator'`, add('{viewer}'), OPERATOR_ROLE)).toBe('done');
  });

  it('refuses a service account and a key in a workspace outside of the scope', async () => {
    expect(await as(by(eve.actor), addTo(eve.workspaceId, '{viewer}'))).toBe('42501');
  });

  it('never shows the hash of a key to a role, and never lets a key live longer or again', async () => {
    const created = await account();
    const { id } = await keyOf(created, { expiresAt: '2140-01-01T00:00:00Z' });
    const set = (change: string) => `update service_account_key set ${change} where id = ${id}`;

    expect(await as('', 'select hash from service_account_key')).toBe('42501');
    expect(await as('', set(`hash = sha256('x')`))).toBe('42501');
    for (const change of [`expires_at = '2141-01-01'`, 'expires_at = null']) {
      expect(await as('', set(change))).toBe(RULE_VIOLATION.recordChanged);
    }
    expect(await as('', set(`expires_at = '2139-01-01'`))).toBe('done');
    await service.revokeServiceAccountKey(ada, { ...named(created), keyId: id });
    expect(await as('', set('revoked_at = null'))).toBe(RULE_VIOLATION.recordChanged);
  });

  it('names the persons behind a maker', async () => {
    const email = 'second@northwind.example';
    const second = await addUser(world.provisioning, 'ops', { email, app: 'Northwind Treasury' });
    await addGrants(world.provisioning, 'ops', { workspaceId: ada.workspaceId, email, roles: ['admin'] });
    const created = await account();
    const { id } = await keyOf(created);
    await service.rotateServiceAccountKey({ ...ada, actor: second as UserId }, { ...named(created), keyId: id });
    const behind = async (user: number, workspace: WorkspaceId = ada.workspaceId) =>
      (
        await world.owner.query<{ id: bigint }>('select persons_behind($1, $2) as id order by 1', [workspace, user])
      ).rows.map(({ id }) => Number(id));

    const both = [Number(ada.actor), second];
    expect(await behind(created.id)).toEqual(both);
    expect(await behind(ada.actor)).toEqual([Number(ada.actor)]);
    await service.deleteServiceAccount(ada, named(created));
    expect(await behind(created.id)).toEqual(both);
    const operators = { workspaceId: ada.workspaceId, actor: undefined, origin: { isOperator: true } };
    const { resource } = await service.createServiceAccount(operators, { name: 'Nightly', roles: ['viewer'] });
    expect(await behind(resource.id as ServiceAccountId)).toEqual([]);
    expect(resource).not.toHaveProperty('createdBy');
  });
});
