import fc from 'fast-check';
import { type ApprovalRule, minorUnits } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import { suspendUser } from '../provisioning/index.js';
import { approvalWorld } from '../testing/approval-world.js';
import { requirementsOf } from './approval-requirements.js';

let world: Awaited<ReturnType<typeof approvalWorld>>;
beforeAll(async () => {
  world = await approvalWorld();
});
afterAll(() => world.close());

const REQUIREMENTS = sqlStatement<{ requirements: unknown }>(
  'requirements_of_spec',
  `select approval_requirements($1, $2, $3, $4, $5,
     (select created_at from recipient where workspace_id = $1 and id = $4) + make_interval(secs => $6)) as requirements`,
);

const optional = <T>(some: fc.Arbitrary<T>) => fc.option(some, { nil: undefined });

describe('the requirements of an order', () => {
  it('are those that the database computes', async () => {
    const other = await world.account('0');
    const rule = fc.record({
      operations: fc.constantFrom('orders', 'recipients', 'rules'),
      approvals: fc.integer({ min: 1, max: 5 }),
      roles: fc.constantFrom(['approver'], ['admin'], ['approver', 'admin']),
      accountID: optional(fc.constantFrom(world.accountId, other)),
      amountAbove: optional(
        fc.uniqueArray(
          fc.record({ currencyCode: fc.constantFrom('USD', 'EUR'), amount: fc.constantFrom('1', '100', '101') }),
          { minLength: 1, maxLength: 2, selector: ({ currencyCode }) => currencyCode },
        ),
      ),
      recipientNewerThanDays: optional(fc.integer({ min: 1, max: 3 })),
    });
    const asked = fc.record({
      rules: fc.array(rule, { maxLength: 6 }),
      accountId: fc.constantFrom(world.accountId, other),
      amount: fc.constantFrom(1n, 99n, 100n, 101n, 102n),
      // No instant in between decides: an age is not exactly a number of days.
      recipientAgeS: fc.constantFrom(1, 86_399, 86_401, 172_799, 172_801, 400_000),
      group: fc.constantFrom('orders' as const, 'recipients' as const),
    });
    await fc.assert(
      fc.asyncProperty(asked, async ({ rules, accountId, amount, recipientAgeS, group }) => {
        const sent = JSON.parse(JSON.stringify(rules)) as ApprovalRule[];
        await world.setRules(...sent);
        const isOrder = group === 'orders';
        const [row] = await world.database.pipeline({ workspaces: [world.workspaceId] }, [
          bind(REQUIREMENTS, world.workspaceId, group, accountId, world.recipientID, amount, recipientAgeS),
        ] as const);
        // Rules of other groups have no conditions.
        if (!isOrder && sent.some((one) => one.operations === group && hasConditions(one))) return;
        const order = { accountId, currency: 'USD' as const, amount: minorUnits(amount), recipientAgeS };
        expect(row[0]!.requirements).toEqual(requirementsOf(sent, group, isOrder ? order : undefined));
      }),
      { numRuns: 150 },
    );
  });
});

describe('a requirement', () => {
  it('can be met exactly if as many people may decide, each counted once', async () => {
    const { owner, workspaceId } = world;
    const suspended = await world.person('approver', 'admin');
    const people = [
      await world.person('approver'),
      await world.person('approver', 'admin'),
      await world.person('admin'),
    ];
    await world.person('member');
    await suspendUser(world.provisioning, 'ops', suspended.email);
    const groups = [['approver'], ['admin'], ['approver', 'admin'], ['approver', 'approver'], []];
    for (const makers of [[], people.slice(0, 1), people.slice(0, 2), people].map((of) =>
      of.map(({ actor }) => actor),
    )) {
      for (const roles of groups) {
        // Asks of each user by itself.
        const { rows } = await owner.query(`select from app_user u where deciding_roles($1, u.id, $2) && $3::text[]`, [
          workspaceId,
          makers,
          roles,
        ]);
        for (let approvals = 1; approvals <= rows.length + 1; approvals += 1) {
          const { rows: asked } = await owner.query<{ met: boolean }>('select is_approvable($1, $2, $3) as met', [
            workspaceId,
            JSON.stringify([{ approvals, roles }]),
            makers,
          ]);
          expect({ makers, roles, approvals, ...asked[0] }).toEqual({
            makers,
            roles,
            approvals,
            met: approvals <= rows.length,
          });
        }
      }
    }
  });

  it('lets no maker decide, no one who is suspended, and no program', async () => {
    const person = await world.person('approver', 'viewer');
    const suspended = await world.person('approver');
    await suspendUser(world.provisioning, 'ops', suspended.email);
    const named = { name: 'Program', roles: ['member'] } as const;
    const { resource: program } = await world.service.createServiceAccount(world.ada, named);
    const rolesOf = async (user: number, ...makers: readonly number[]) => {
      const asked = [world.workspaceId, user, makers];
      const { rows } = await world.owner.query<{ roles: string[] }>(
        'select deciding_roles($1, $2, $3) as roles',
        asked,
      );
      return rows[0]!.roles;
    };
    expect(await rolesOf(person.actor)).toEqual(['approver', 'viewer']);
    expect(await rolesOf(person.actor, world.ada.actor)).toEqual(['approver', 'viewer']);
    expect(await rolesOf(person.actor, world.ada.actor, person.actor)).toEqual([]);
    expect(await rolesOf(suspended.actor)).toEqual([]);
    expect(await rolesOf(program.id)).toEqual([]);
  });
});

const hasConditions = ({ accountID, amountAbove, recipientNewerThanDays }: ApprovalRule): boolean =>
  [accountID, amountAbove, recipientNewerThanDays].some((condition) => condition !== undefined);
