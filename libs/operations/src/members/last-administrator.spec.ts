import type { MemberId, RoleName, UserId, WorkspaceId } from '@banking/domain';
import { ROLE_NAMES } from '@banking/domain';
import { openBooks } from '@banking/ledger';
import { API_ROLE, type Database, SCHEMA } from '@banking/postgres';
import { openDatabase, testOrProve } from '@banking/postgres/testing';
import { array, assert, asyncProperty, constantFrom, integer, record, subarray } from 'fast-check';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { addApp, addGrants, addUser, addWorkspace } from '../provisioning/index.js';
import { emptyDatabase, type TestDatabase } from '../testing/test-databases.js';

const PEOPLE = 3;

let world: TestDatabase;
let second: Database;
let services: readonly LedgerBankingService[];
let people: readonly { readonly email: string; readonly id: UserId }[];
let workspaces = 0;

beforeAll(async () => {
  world = await emptyDatabase();
  // As in two processes.
  second = await openDatabase({ connection: world.connection, role: API_ROLE, schema: SCHEMA, poolSize: 4 });
  services = [
    new LedgerBankingService(world.database, world.books),
    new LedgerBankingService(second, openBooks(second)),
  ];
  await addApp(world.provisioning, 'spec', 'Bank');
  people = await Promise.all(
    Array.from({ length: PEOPLE }, async (_, index) => {
      const email = `person${index}@bank.example`;
      return { email, id: (await addUser(world.provisioning, 'spec', { email, app: 'Bank' })) as UserId };
    }),
  );
});
afterAll(async () => {
  await second.end();
  await world.close();
});

/** A change by a person of the roles of a person. */
interface Step {
  readonly service: number;
  readonly by: number;
  readonly of: number;
  readonly kind: 'invite' | 'change' | 'remove';
  readonly roles: readonly RoleName[];
}

const step = record<Step>({
  service: integer({ min: 0, max: 1 }),
  by: integer({ min: 0, max: PEOPLE - 1 }),
  of: integer({ min: 0, max: PEOPLE - 1 }),
  kind: constantFrom('invite', 'change', 'remove'),
  roles: subarray<RoleName>([...ROLE_NAMES], { minLength: 1 }),
});

/** How a step ends, or the reason of its refusal. Any other error fails the law. */
const REFUSALS = ['done', 'last_admin', 'role_insufficient', 'member_exists', 'member_not_found', 'member_removed'];

it('a workspace that had an administrator has one always, whatever administrators change at the same time', async () => {
  const law = asyncProperty(
    array(step, { minLength: 4, maxLength: 12 }),
    subarray([0, 1, 2], { minLength: 1 }),
    async (steps, first) => {
      const name = `Workspace ${(workspaces += 1)}`;
      const workspaceId = (await addWorkspace(world.provisioning, 'spec', { app: 'Bank', name })) as WorkspaceId;
      for (const index of first) {
        const { email } = people[index]!;
        await addGrants(world.provisioning, 'spec', { workspaceId, email, roles: ['admin'] });
      }
      const run = async ({ service: index, by, of, kind, roles }: Step) => {
        const service = services[index]!;
        const scope = { workspaceId, actor: people[by]!.id };
        const { email, id } = people[of]!;
        const { items } = await service.listMembers(scope);
        const memberId = items.find(({ userID }) => userID === id)?.id ?? (999_999 as MemberId);
        if (kind === 'invite') return service.inviteMember(scope, { email, roles });
        if (kind === 'change') return service.changeMember(scope, { memberId, roles });
        return service.removeMember(scope, { memberId });
      };
      const ends = await Promise.all(
        steps.map((one) =>
          run(one).then(
            () => 'done',
            (error: unknown) => (error as { reason?: string }).reason ?? String(error),
          ),
        ),
      );

      expect(ends.filter((end) => !REFUSALS.includes(end))).toEqual([]);
      const { rows } = await world.owner.query<{ count: number }>(
        `select count(*)::int as count from workspace_role where workspace_id = $1 and role = 'admin'`,
        [workspaceId],
      );
      expect(rows[0]!.count).toBeGreaterThan(0);
    },
  );
  await assert(law, { numRuns: testOrProve(25, 300) });
});
