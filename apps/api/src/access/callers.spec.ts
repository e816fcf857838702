import { Directory, type DirectoryUser, type Subject, type UserId, type WorkspaceId } from '@banking/domain';
import { Callers } from './callers.js';

/** A directory that knows users by their e-mail, and how often it has been asked. */
class ByEmail extends Directory {
  asked = 0;

  async userOf({ email }: Subject): Promise<DirectoryUser | undefined> {
    this.asked += 1;
    return email === undefined ? undefined : { id: email.length as UserId, grants: [] };
  }
}

const ADA: Subject = { issuer: 'https://login.example', subject: 'ada', email: 'ada@bank.example' };

describe('Given callers that are remembered for a moment', () => {
  it('When one calls twice, Then the directory is asked once', async () => {
    const directory = new ByEmail();
    const callers = new Callers(directory);

    expect(await callers.userOf(ADA)).toEqual(await callers.userOf({ ...ADA }));
    expect(directory.asked).toBe(1);
  });

  it('When the same subject comes with another e-mail, or with none that is verified, Then that is another question', async () => {
    const callers = new Callers(new ByEmail());
    await callers.userOf(ADA);

    expect((await callers.userOf({ ...ADA, email: 'bob@b.example' }))?.id).toBe(13);
    expect(await callers.userOf({ ...ADA, email: undefined })).toBeUndefined();
  });
});

describe('Given a user who loses the roles, by a removed grant or another status', () => {
  it('When they call within a second, Then the roles may still count, and after a second they do not', async () => {
    let nowMs = 1_000_000;
    jest.spyOn(Date, 'now').mockImplementation(() => nowMs);
    const workspaceId = 1 as WorkspaceId;
    let grants: DirectoryUser['grants'] = [{ workspaceId, role: 'admin', appId: 1 as never }];
    class Changing extends Directory {
      userOf = async () => ({ id: 1 as UserId, grants });
    }
    const callers = new Callers(new Changing());
    const held = async () => (await callers.userIn(ADA, workspaceId))?.grants.length;

    expect(await held()).toBe(1);
    grants = [];
    nowMs += 999;
    expect(await held()).toBe(1);
    nowMs += 1;
    expect(await held()).toBe(0);
    jest.restoreAllMocks();
  });
});
