import { OWNER_ROLE, SCHEMA, withAdminSession } from '@banking/postgres';
import { administer, reasonOf, until } from '@banking/postgres/testing';
import { type CellServer, cellServer } from '../testing/cell-server.js';
import { addCell } from './add-cell.js';
import { requireRemover } from './remove-rows.js';
import { addressOf } from './subscription.js';
import { writeCopy } from './write-copy.js';

let server: CellServer;

beforeAll(async () => {
  server = await cellServer(['b']);
  await server.query(
    'home',
    `create role deployer login noinherit replication;
     grant banking_owner, banking_api, banking_worker, banking_verifier, banking_operator, banking_provisioning to deployer;
     create role copier login replication`,
  );
});
afterAll(() => server?.close());

/** As a login that owns neither tables nor database, with a login of its own for the server of the cell. */
const add = () => {
  const home = { ...server.connectionOf('home'), user: 'deployer' };
  const cell = server.connectionOf('b');
  const address = `postgres://copier@localhost:${home.port}/home?host=${encodeURIComponent(home.host!)}`;
  return addCell({ name: 'b', home, cell, homeAddress: addressOf(address), isSandbox: true });
};
/** What a message lets an administrator run. */
const run = (message: string | undefined) =>
  administer(server.connectionOf('home'), (client) => client.query(/: ((?:alter|grant) .*;)/.exec(message!)![1]!));
const cells = () => server.query('home', 'select from cell');
const apps = () => server.query<{ name: string }>('b', 'select name from app');

describe('the addition of a cell', () => {
  it('is refused before it changes home while the server of the cell may not read a table of the directory', async () => {
    await server.query('home', 'grant usage on schema banking to copier');
    await server.query('home', 'grant select on all tables in schema banking to copier');
    await server.query('home', 'revoke select on member, workspace_role from copier');

    const message = await reasonOf(add());

    expect(message).toBe(
      'The login "copier", by which the cell reaches home, may not copy the directory. Set homeUrl of the cell to a login that may, or let an ' +
        'administrator run at home: alter role "copier" bypassrls; grant select on banking.member, banking.workspace_role to "copier";',
    );
    expect(await cells()).toEqual([]);
    await run(message);
  });

  it('names what the owner of the tables lacks, if the login does not own the database', async () => {
    const message = await reasonOf(add());

    expect(message).toBe(
      'The role "banking_owner" may not create a publication. Let an administrator run: grant create on database "home" to "banking_owner";',
    );
    await run(message);
  });

  it('needs no right of the tables for the login', async () => {
    expect(await add()).toBe(1);
  });

  it('makes a copy anew with the same rights at home', async () => {
    await server.query('home', `insert into app (id, name) values (1, 'Harbour')`);
    await until(async () => (await apps()).length > 0);
    await server.query('b', 'set session_replication_role = replica; delete from app');

    expect(await add()).toBe(1);

    expect(await apps()).toEqual([{ name: 'Harbour' }]);
  });

  it('writes the rows of a copy with the rights in the cell that removing rows needs', async () => {
    await server.query(
      'b',
      `create role migrator login bypassrls; grant banking_owner to migrator with inherit true;
       grant set on parameter session_replication_role to migrator;
       set session_replication_role = replica; update app set name = 'Other'; insert into app (id, name) values (2, 'Lost')`,
    );
    const [home, cell] = [server.connectionOf('home'), { ...server.connectionOf('b'), user: 'migrator' }];

    await withAdminSession(home, (atHome) =>
      withAdminSession(cell, async (inCell) => {
        await requireRemover(inCell, 'b');
        await atHome.actAs(OWNER_ROLE, SCHEMA, () => writeCopy(atHome.query, inCell));
      }),
    );

    expect(await apps()).toEqual([{ name: 'Harbour' }]);
  });
});
