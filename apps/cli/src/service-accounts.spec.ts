import { idOfKey, type ServiceAccount, type ServiceAccountKey } from '@banking/domain';
import { OPERATOR, World } from './testing/world.js';

const world = new World();
const IN = ['--workspace', '1'];

beforeAll(() => world.openDemo());
afterAll(() => world.close());

it('banking service-account and banking key make, list and end programs and their keys, as an operator', async () => {
  expect(await world.run(['service-account', 'list', ...IN])).toMatchObject({
    stdout: 'The workspace has no service accounts.\n',
  });
  const add = ['service-account', 'add', 'Payroll', ...IN, '--role', 'viewer', 'member', '--scope', 'orders:read'];
  const { id } = await world.json<ServiceAccount>(...add);
  const ofAccount = [...IN, '--account', String(id)];
  expect(await world.json<ServiceAccount[]>('service-account', 'list', ...IN)).toMatchObject([
    { id, name: 'Payroll', roles: ['viewer', 'member'], scopes: ['orders:read'], keys: [] },
  ]);

  const made = await world.run(['key', 'create', ...ofAccount, '--network', '10.0.0.0/8', '::1']);
  expect(made).toMatchObject({ exitCode: 0, stderr: '' });
  const keyId = idOfKey(made.stdout.trim());
  expect(await world.json<ServiceAccountKey[]>('key', 'list', ...IN)).toMatchObject([
    { id: keyId, serviceAccountID: id, networks: ['10.0.0.0/8', '::1/128'] },
  ]);
  expect((await world.run(['key', 'list', ...IN])).stdout).toMatch(/Payroll .*10\.0\.0\.0\/8 ::1\/128 .*never/);

  expect(await world.run(['key', 'revoke', String(keyId), ...ofAccount])).toMatchObject({
    exitCode: 0,
    stdout: `Revoked key ${keyId} of service account ${id}.\n`,
  });
  expect(await world.run(['key', 'revoke', String(keyId), ...ofAccount])).toMatchObject({ exitCode: 1 });
  expect(await world.run(['service-account', 'remove', String(id), ...IN])).toMatchObject({ exitCode: 0 });
  expect(await world.run(['key', 'create', ...ofAccount])).toMatchObject({ exitCode: 1 });

  const [created] = await world.query(
    `select entries -> 0 -> 'actor' ->> 'name' as name from audit_outbox where entries::text like '%createServiceAccount"%'
     union all select actor ->> 'name' from audit_event where operation = 'createServiceAccount'`,
  );
  expect(created).toEqual({ name: OPERATOR });
});

it.each([
  [['service-account', 'list', '--workspace', '999999'], 1, /There is no workspace 999999/],
  [['service-account', 'add', 'X', ...IN, '--role', 'admin'], 2, /Allowed choices are viewer, member/],
  [['service-account', 'add', 'X', ...IN, '--role', 'member', '--scope', 'keys:create'], 2, /Allowed choices/],
  [['key', 'create', ...IN, '--account', '1', '--expires', 'soon'], 2, /RFC 3339/],
  [['key', 'create', ...IN, '--account', '1'], 1, /no service account with this id/],
])('banking %j ends with %i', async (args, exitCode, message) => {
  expect(await world.run(args)).toMatchObject({ exitCode, stderr: expect.stringMatching(message) as string });
});
