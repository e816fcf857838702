import { isServedElsewhere } from '@banking/postgres';
import { renameUser } from '../provisioning/index.js';
import { personalWorld, type PersonalWorld } from '../testing/personal-world.js';

let world: PersonalWorld;

beforeAll(async () => {
  world = await personalWorld();
});
afterAll(() => world.close());

describe('the erasure of the payer of two deposits', () => {
  it('changes neither workspace while one of them is being moved', async () => {
    const { owner, workspaceId, demo } = world;
    const id = await world.deposit('Quxa');
    const payer = { subject: 'payer', id, workspaceId } as const;
    const other = demo.workspaces['Southwind Imports']!;
    const inMode = (mode: string) => owner.query(`set session_replication_role = ${mode}`);
    await inMode('replica');
    await owner.query(`update deposit set status = 'assigned' where id = $1`, [id]);
    await owner.query(
      `insert into deposit (workspace_id, account_id, currency_id, amount, status, payer, value_on, entry_id, assigned_from, transaction_id)
       select ${other}, account_id, currency_id, amount, 'booked', payer, value_on, entry_id, id, transaction_id from deposit where id = $1`,
      [id],
    );
    await inMode('origin');
    await owner.query(`insert into cell_identity (number, name) values (0, 'home')`);
    await owner.query('insert into cell_workspace (workspace_id) select id from workspace on conflict do nothing');
    const become = (state: string) =>
      owner.query('update cell_workspace set state = $1 where workspace_id = $2', [state, other]);
    await become('moving');
    const held = await world.tablesWith('Quxa');

    expect(await world.erase(payer).catch(isServedElsewhere)).toBe(true);
    await world.eraseUnused();
    expect(await world.tablesWith('Quxa')).toEqual(held);

    await become('open');
    expect(await world.erase(payer)).toEqual({ erased: expect.objectContaining({ deposit: 2 }) as object });
    expect(await world.tablesWith('Quxa')).toEqual([]);
  });
});

describe('the erasure of a user', () => {
  it('also has the invitations to an e-mail that the user had before', async () => {
    const id = await world.user('Quxb');
    await renameUser(world.provisioning, 'ops', 'quxb@northwind.example', 'later@northwind.example');

    await world.erase({ subject: 'user', id });

    expect(await world.tablesWith('quxb')).toEqual([]);
  });
});
