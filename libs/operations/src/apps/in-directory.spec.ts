import { Refusal, type UserId, type WorkspaceId } from '@banking/domain';
import type { Database } from '@banking/postgres';
import { changeMember, inviteMember, removeMember } from '../members/change-members.js';
import { openReading } from '../resources/reading.js';
import { changeServiceAccount, createServiceAccount } from '../service-accounts/service-accounts.js';
import { demoDatabase } from '../testing/test-databases.js';
import { type InDirectory, inDirectoryOf } from './in-directory.js';

describe('the wait for a change of the directory at home', () => {
  const { arrival } = inDirectoryOf({} as Database);

  it('ends when the change has arrived', async () => {
    let reads = 0;
    await arrival(() => Promise.resolve((reads += 1) === 3));
    expect(reads).toBe(3);
  });

  it('says nothing of a database that cannot be read, because the change is made', async () => {
    await expect(arrival(() => Promise.reject(new Refusal('unavailable')))).resolves.toBeUndefined();
    await expect(arrival(() => Promise.reject(new TypeError('unexpected')))).rejects.toThrow('unexpected');
  });
});

describe('an operation that changes the directory', () => {
  it('waits until its database has the change', async () => {
    const { database, demo, close } = await demoDatabase();
    try {
      const reading = openReading(database);
      const caller = {
        workspaceId: demo.workspaces['Northwind Trading'] as WorkspaceId,
        actor: demo.users['ada@northwind.example'] as UserId,
      };
      const seen: boolean[] = [];
      const directory: InDirectory = {
        ...inDirectoryOf(undefined),
        arrival: async (hasArrived) => void seen.push(await hasArrived()),
      };
      const input = { name: 'Payroll', roles: ['viewer'] } as const;
      const { resource: account } = await createServiceAccount(reading, caller, input, {}, directory);
      await changeServiceAccount(reading, caller, { serviceAccountId: account.id, roles: ['member'] }, directory);
      const invitation = { email: 'new@northwind.example', roles: ['viewer'] } as const;
      const { resource: member } = await inviteMember(reading, caller, invitation, {}, directory);
      await changeMember(reading, caller, { memberId: member.id, roles: ['member'] }, directory);
      await removeMember(reading, caller, { memberId: member.id }, directory);

      expect(seen).toEqual([true, true, true, true, true]);
    } finally {
      await close();
    }
  });
});
