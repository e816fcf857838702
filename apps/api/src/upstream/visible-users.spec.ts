import type { User, UserId } from '@banking/domain';
import { visibleUsers } from './visible-users.js';

const role = (id: number, word: string, workspace: string) => ({
  id,
  role: word,
  edges: { workspace: { id: workspace === 'One' ? 1 : 2, name: workspace } },
});
const user = (id: number, name: string, roles: object[], status = 'completed') =>
  ({ id, email: `${name}@bank.example`, status, edges: { roles } }) as unknown as User;

/** The people of the spec of our own books: the same rule has to hold for both. */
const USERS = [
  user(1, 'admin', [role(1, 'admin', 'Two')]),
  user(2, 'member', [role(2, 'member', 'One')]),
  user(3, 'mate', [role(3, 'member', 'One'), role(4, 'member', 'Two')]),
  user(4, 'stranger', [role(5, 'member', 'Two')]),
  user(5, 'loner', []),
  user(6, 'pending', [role(6, 'admin', 'One')], 'pending'),
];

/** Who is seen, and in which workspaces with which role. */
const seenBy = (id: number, users: readonly User[] = USERS) =>
  Object.fromEntries(visibleUsers(users, id as UserId).map(inShort));
const inShort = ({ email, edges }: User) => [
  email.split('@')[0],
  edges.roles?.map(({ role: word, edges: { workspace } }) => `${word} of ${workspace.name}`),
];

describe('Given all users of an app with two workspaces', () => {
  it('When an admin of one of them asks, Then every user shows with all their roles in it', () => {
    expect(seenBy(1)).toEqual({
      admin: ['admin of Two'],
      member: ['member of One'],
      mate: ['member of One', 'member of Two'],
      stranger: ['member of Two'],
      loner: [],
      pending: [],
    });
  });

  it('When a member asks, Then they see those they share a workspace with, with the shared roles only', () => {
    expect(seenBy(2)).toEqual({ member: ['member of One'], mate: ['member of One'] });
    expect(seenBy(4)).toEqual({ stranger: ['member of Two'], admin: ['admin of Two'], mate: ['member of Two'] });
  });

  it('When a user without a role asks, or one who has not finished signing up, Then they see themselves', () => {
    expect(seenBy(5)).toEqual({ loner: [] });
    expect(seenBy(6)).toEqual({ pending: [] });
  });

  it('When somebody asks who is not listed, Then they see nobody', () => {
    expect(seenBy(7)).toEqual({});
  });

  it('When a role is neither admin nor member, Then its holder sees nobody by it, and others see the word', () => {
    const users = [...USERS, user(7, 'auditor', [role(7, 'auditor', 'Two')])];

    expect(seenBy(7, users)).toEqual({ auditor: [] });
    expect(seenBy(1, users)).toMatchObject({ auditor: ['auditor of Two'] });
  });

  it('When a list leaves roles out, Then that is a user without a role', () => {
    const users = [...USERS, { id: 8, email: 'bare@bank.example', edges: {} } as User];

    expect(seenBy(1, users)).toMatchObject({ bare: [] });
    expect(seenBy(8, users)).toEqual({ bare: [] });
  });

  it('When a user has fields we do not know, Then they are passed on', () => {
    const users = [{ ...USERS[1], edges: { ...USERS[1]?.edges, badges: 3 }, level: 'gold' } as User];

    expect(visibleUsers(users, 2 as UserId)).toMatchObject([{ level: 'gold', edges: { badges: 3 } }]);
  });

  it('When a member sees somebody else, Then it is what the interface names: the rest was told to our credential', () => {
    const more = { phone: '+49 30 1234', edges: { roles: USERS[2]?.edges?.roles, sessions: ['token'] } };
    const users = [USERS[1]!, { ...USERS[2], ...more } as User];

    expect(JSON.stringify(visibleUsers(users, 2 as UserId))).not.toMatch(/phone|sessions/);
    expect(seenBy(2, users)).toEqual({ member: ['member of One'], mate: ['member of One'] });
    expect(visibleUsers([...users, USERS[0]!], 1 as UserId)[1]).toMatchObject({ phone: '+49 30 1234' });
  });

  it('When the upstream leaves the status of a user out, Then the roles count as they are listed', () => {
    const { status: _, ...admin } = USERS[0]!;

    expect(seenBy(1, [admin, ...USERS.slice(1)])).toEqual(seenBy(1));
  });

  it.each(['blocked', 'deleted', 'suspended', 'Completed', ''])(
    'When the status of a user is %j, Then they hold nothing: what it means is not ours to guess',
    (status) => {
      const users = [...USERS.slice(0, 3), user(9, 'odd', [role(9, 'admin', 'One')], status)];

      expect(seenBy(9, users)).toEqual({ odd: [] });
      expect(seenBy(2, users)).not.toHaveProperty('odd');
    },
  );
});
