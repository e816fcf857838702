import type { User, UserId } from '@banking/domain';
import { visibleUsers } from './visible-users.js';

const role = (id: number, word: string, workspace: string) => ({
  id,
  role: word,
  edges: { workspace: { id: workspace === 'One' ? 1 : 2, name: workspace } },
});
const user = (id: number, name: string, roles: object[], status = 'completed') =>
  ({ id, email: `${name}@bank.example`, status, edges: { roles } }) as unknown as User;

/** The users of the spec of our own books, because both implement the same rule. */
const USERS = [
  user(1, 'admin', [role(1, 'admin', 'Two')]),
  user(2, 'member', [role(2, 'member', 'One')]),
  user(3, 'mate', [role(3, 'member', 'One'), role(4, 'member', 'Two')]),
  user(4, 'stranger', [role(5, 'member', 'Two')]),
  user(5, 'loner', []),
  user(6, 'pending', [role(6, 'admin', 'One')], 'pending'),
];

/** The visible users, with their workspaces and roles. */
const seenBy = (id: number, users: readonly User[] = USERS) =>
  Object.fromEntries(visibleUsers(users, id as UserId).map(inShort));
const inShort = ({ email, edges }: User) => [
  email.split('@')[0],
  edges.roles?.map(({ role: word, edges: { workspace } }) => `${word} of ${workspace.name}`),
];

describe('visibleUsers', () => {
  it('shows an admin every user with all roles', () => {
    expect(seenBy(1)).toEqual({
      admin: ['admin of Two'],
      member: ['member of One'],
      mate: ['member of One', 'member of Two'],
      stranger: ['member of Two'],
      loner: [],
      pending: [],
    });
  });

  it('shows a member the users of shared workspaces, with the shared roles only', () => {
    expect(seenBy(2)).toEqual({ member: ['member of One'], mate: ['member of One'] });
    expect(seenBy(4)).toEqual({ stranger: ['member of Two'], admin: ['admin of Two'], mate: ['member of Two'] });
  });

  it('shows a user without a role, or before sign-up is completed, only themselves', () => {
    expect(seenBy(5)).toEqual({ loner: [] });
    expect(seenBy(6)).toEqual({ pending: [] });
  });

  it('shows nothing to a user who is not listed', () => {
    expect(seenBy(7)).toEqual({});
  });

  it('gives no view for an unknown role, and shows its name to others', () => {
    const users = [...USERS, user(7, 'auditor', [role(7, 'auditor', 'Two')])];

    expect(seenBy(7, users)).toEqual({ auditor: [] });
    expect(seenBy(1, users)).toMatchObject({ auditor: ['auditor of Two'] });
  });

  it('treats missing roles as no role', () => {
    const users = [...USERS, { id: 8, email: 'bare@bank.example', edges: {} } as User];

    expect(seenBy(1, users)).toMatchObject({ bare: [] });
    expect(seenBy(8, users)).toEqual({ bare: [] });
  });

  it('passes on unknown fields', () => {
    const users = [{ ...USERS[1], edges: { ...USERS[1]?.edges, badges: 3 }, level: 'gold' } as User];

    expect(visibleUsers(users, 2 as UserId)).toMatchObject([{ level: 'gold', edges: { badges: 3 } }]);
  });

  it('shows a member only the published fields of another user', () => {
    const more = { phone: '+49 30 1234', edges: { roles: USERS[2]?.edges?.roles, sessions: ['token'] } };
    const users = [USERS[1]!, { ...USERS[2], ...more } as User];

    expect(JSON.stringify(visibleUsers(users, 2 as UserId))).not.toMatch(/phone|sessions/);
    expect(seenBy(2, users)).toEqual({ member: ['member of One'], mate: ['member of One'] });
    expect(visibleUsers([...users, USERS[0]!], 1 as UserId)[1]).toMatchObject({ phone: '+49 30 1234' });
  });

  it('counts the roles of a user without a status', () => {
    const { status: _, ...admin } = USERS[0]!;

    expect(seenBy(1, [admin, ...USERS.slice(1)])).toEqual(seenBy(1));
  });

  it.each(['blocked', 'deleted', 'suspended', 'Completed', ''])(
    'counts no roles of a user with the status %j',
    (status) => {
      const users = [...USERS.slice(0, 3), user(9, 'odd', [role(9, 'admin', 'One')], status)];

      expect(seenBy(9, users)).toEqual({ odd: [] });
      expect(seenBy(2, users)).not.toHaveProperty('odd');
    },
  );
});
