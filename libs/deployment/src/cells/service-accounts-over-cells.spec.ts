import { KEY_ISSUER, type Refusal, type Scope, type UserId, type WorkspaceId } from '@banking/domain';
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
  it('are those of workspaces at home, and their keys are found', async () => {
    const { resource: account } = await process.banking.createServiceAccount(as('home'), {
      ...{ name: 'Payroll', roles: ['member'] },
    });
    const { resource: key } = await process.banking.createServiceAccountKey(as('home'), {
      serviceAccountId: account.id,
    });

    expect(await found(key.id)).toMatchObject({ id: account.id, grants: [{ workspaceId: ids.get('home') }] });
    await process.directory.noteKeyUse(key.id);
    const name = { serviceAccountId: account.id, keyId: key.id };
    expect((await process.banking.getServiceAccountKey(as('home'), name)).lastUsedAt).toBeDefined();
    await process.banking.revokeServiceAccountKey(as('home'), name);
    expect(await found(key.id)).toBeUndefined();
  });

  it('are refused clearly for a workspace in another database', async () => {
    const input = { name: 'Payroll', roles: ['member'] } as const;

    expect(await reasonOf(process.banking.createServiceAccount(as('b'), input))).toBe('service_accounts_unavailable');
    expect((await process.banking.listServiceAccounts(as('b'))).items).toEqual([]);
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
