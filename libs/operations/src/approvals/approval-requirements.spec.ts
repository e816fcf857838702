import fc from 'fast-check';
import { type ApprovalRule, minorUnits } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
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

const hasConditions = ({ accountID, amountAbove, recipientNewerThanDays }: ApprovalRule): boolean =>
  [accountID, amountAbove, recipientNewerThanDays].some((condition) => condition !== undefined);
