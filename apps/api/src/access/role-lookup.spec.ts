import { Directory, type DirectoryUser, type Subject, type UserId, type WorkspaceId } from '@banking/domain';
import { RoleLookup } from './role-lookup.js';

/** A directory of users by e-mail that counts its reads. */
class ByEmail extends Directory {
  reads = 0;

  async userOf({ email }: Subject): Promise<DirectoryUser | undefined> {
    this.reads += 1;
    return email === undefined ? undefined : { id: email.length as UserId, grants: [] };
  }
}

const ADA: Subject = { issuer: 'https://login.example', subject: 'ada', email: 'ada@bank.example' };

describe('RoleLookup', () => {
  it('reads the directory once for two calls of one subject', async () => {
    const directory = new ByEmail();
    const roles = new RoleLookup(directory);

    expect(await roles.userOf(ADA)).toEqual(await roles.userOf({ ...ADA }));
    expect(directory.reads).toBe(1);
  });

  it('looks a subject up again if its e-mail is another one or not verified', async () => {
    const roles = new RoleLookup(new ByEmail());
    await roles.userOf(ADA);

    expect((await roles.userOf({ ...ADA, email: 'bob@b.example' }))?.id).toBe(13);
    expect(await roles.userOf({ ...ADA, email: undefined })).toBeUndefined();
  });

  it('looks a subject up again at another issuer, with another subject or with another e-mail', async () => {
    const directory = new ByEmail();
    const roles = new RoleLookup(directory);
    for (const change of [{}, { issuer: 'https://other.example' }, { subject: 'bob' }, { email: undefined }]) {
      await roles.userOf({ ...ADA, ...change });
      await roles.userOf({ ...ADA, ...change });
    }

    expect(directory.reads).toBe(4);
  });

  it('finds no role of a stranger, or in a workspace without a grant', async () => {
    const roles = new RoleLookup(new ByEmail());

    expect(await roles.roleIn({ ...ADA, email: undefined }, 1 as WorkspaceId)).toBeUndefined();
    expect(await roles.roleIn(ADA, 1 as WorkspaceId)).toBeUndefined();
  });

  it('asks the directory for a role in the workspace that the cached user lacks', async () => {
    const asked: unknown[] = [];
    const grant = (id: number) => ({ workspaceId: id as WorkspaceId, role: 'member' as const, appId: 1 as never });
    class Later extends Directory {
      async userOf(_: Subject, workspaceId?: WorkspaceId): Promise<DirectoryUser> {
        asked.push(workspaceId);
        return { id: 5 as UserId, grants: workspaceId === undefined ? [grant(1)] : [grant(1), grant(2)] };
      }
    }
    const roles = new RoleLookup(new Later());

    expect(await roles.roleIn(ADA, 1 as WorkspaceId)).toEqual({ actor: 5, workspaceId: 1, role: 'member' });
    expect(await roles.roleIn(ADA, 2 as WorkspaceId)).toEqual({ actor: 5, workspaceId: 2, role: 'member' });
    expect(asked).toEqual([undefined, 2]);
  });

  it('honours a removed role for less than a second', async () => {
    let nowMs = 0;
    const workspaceId = 1 as WorkspaceId;
    let grants: DirectoryUser['grants'] = [{ workspaceId, role: 'admin', appId: 1 as never }];
    class Changing extends Directory {
      userOf = async () => ({ id: 1 as UserId, grants });
    }
    const roles = new RoleLookup(new Changing(), () => nowMs);
    const roleOfAda = async () => (await roles.roleIn(ADA, workspaceId))?.role;

    expect(await roleOfAda()).toBe('admin');
    grants = [];
    nowMs += 999;
    expect(await roleOfAda()).toBe('admin');
    expect(roles.knownUser(ADA)?.grants).toHaveLength(1);
    nowMs += 1;
    expect(roles.knownUser(ADA)).toBeUndefined();
    expect(await roleOfAda()).toBeUndefined();
  });
});
