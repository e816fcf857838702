import type { UserId, WorkspaceId } from '@banking/domain';
import { until } from '@banking/postgres/testing';
import { type CellServer, cellServer } from '../testing/cell-server.js';
import { addWorkspaces, type CellProcess, MIA, startProcess } from '../testing/cell-world.js';

const NAMES = ['home', 'b'];
const PERSON = { issuer: MIA.issuer, subject: 'dana' };

let server: CellServer;
let process: CellProcess;
let ids: Map<string, WorkspaceId>;
let mia: UserId;

beforeAll(async () => {
  server = await cellServer(['b']);
  await server.add('b');
  process = await startProcess(server);
  ids = await addWorkspaces(server, NAMES);
  mia = (await process.directory.userOf(MIA))!.id;
  // The copy of the directory has the roles of Mia.
  await until(async () => (await server.query('b', 'select from workspace_role')).length >= 4);
});
afterAll(async () => {
  await process?.close();
  await server?.close();
});

describe.each(NAMES)('the members of a workspace in the cell %s', (name) => {
  const scope = () => ({ workspaceId: ids.get(name)!, actor: mia, requestId: `of ${name}` });
  const told = (table: string) =>
    server.query<{ text: string }>(
      name,
      `select ${table === 'audit_outbox' ? 'entries' : 'changes'}::text as text from ${table} order by id`,
    );

  it('are invited, changed, joined and removed, and the cell of the workspace tells of it', async () => {
    const { banking, directory } = process;
    const input = { email: `dana.${name}@harbour.example`, roles: ['viewer'] as const };
    const key = { idempotencyKey: 'dana' };

    const { resource: invited, isReplay } = await banking.inviteMember(scope(), input, key);
    const again = await banking.inviteMember(scope(), input, key);
    const changed = await banking.changeMember(scope(), { memberId: invited.id, roles: ['approver'] });
    const subject = { ...PERSON, subject: `dana ${name}` };
    const joined = await banking.acceptInvitation({ subject }, { code: invited.code! });
    const user = await directory.userOf(subject);

    expect([isReplay, again.isReplay, again.resource.id]).toEqual([false, true, invited.id]);
    expect(changed).toMatchObject({ id: invited.id, status: 'invited', roles: ['approver'] });
    expect(joined).toMatchObject({ id: invited.id, status: 'active', edges: { workspace: { id: ids.get(name) } } });
    expect(user?.grants).toMatchObject([{ workspaceId: ids.get(name), roles: ['approver'] }]);
    // A read may see the copy of a moment ago.
    const listed = await until(
      async () => (await banking.listMembers(scope())).items,
      (items) => items.some(({ status, email }) => status === 'active' && email === input.email),
    );
    expect(listed.map(({ email }) => email)).toEqual([input.email, 'mia@harbour.example']);

    const self = listed.at(-1)!.id;
    await expect(banking.removeMember(scope(), { memberId: self })).rejects.toMatchObject({ reason: 'last_admin' });
    expect(await banking.removeMember(scope(), { memberId: invited.id })).toMatchObject({
      status: 'removed',
      roles: [],
    });

    const members = (rows: readonly { readonly text: string }[], what: RegExp) =>
      rows.flatMap(({ text }) => text.match(what) ?? []);
    const events = await until(
      async () => members(await told('change_outbox'), /member\.\w+/),
      (types) => types.includes('member.removed'),
    );
    expect(events).toEqual(['member.invited', 'member.changed', 'member.changed', 'member.removed']);
    const entries = members(await told('audit_outbox'), /inviteMember|changeMember|acceptInvitation|removeMember/);
    expect(entries).toEqual(['inviteMember', 'changeMember', 'acceptInvitation', 'removeMember']);
  });

  it('are changed by administrators only', async () => {
    const stranger = { ...scope(), actor: 999 as UserId };

    await expect(
      process.banking.inviteMember(stranger, { email: 'x@harbour.example', roles: ['admin'] }),
    ).rejects.toMatchObject({ reason: 'role_insufficient' });
  });
});
