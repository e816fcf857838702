import { Directory, type DirectoryUser, type Subject, type UserId } from '@banking/domain';
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
