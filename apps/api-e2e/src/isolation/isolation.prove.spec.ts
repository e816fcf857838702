import { offlineDocument } from '../documented/read-document.js';
import { countOf, plansOf, kindOf } from './cases.js';
import { SharedBatches } from './batches.js';
import { Matrix, REFUSED_OWNER } from './matrix.js';
import { nameOf } from '../documented/inputs.js';
import { type CalledService, Services, type UnfilteredService } from './services.js';
import { makeWorld, type World } from './world.js';

const plans = plansOf(offlineDocument());

/** Without their conditions, these statements would return our own accounts of all workspaces, and no order could be placed. */
const OF_OWN_ACCOUNTS = ['find_own_accounts'];

let services: Services;
let plain: CalledService;
let unfiltered: UnfilteredService;
let exposed: UnfilteredService;
let world: World;

beforeAll(async () => {
  services = await Services.open();
  plain = await services.start();
  unfiltered = await services.startUnfiltered('unfiltered');
  exposed = await services.startUnfiltered('exposed', OF_OWN_ACCOUNTS);
  world = await makeWorld(plain, services.rows, plans);
});
afterAll(() => services?.stop());

// A world of its own, because its rows change. It is tried first: with the clocks of two workspaces no order could be placed.
describe('without conditions and row-level security', () => {
  const faults = new Map<string, readonly string[]>();
  let matrix: Matrix;
  beforeAll(async () => {
    const exposedWorld = await makeWorld(plain, services.rows, plans, 'exposed');
    await services.rows.setRowLevelSecurity(false);
    matrix = new Matrix(exposed, exposedWorld, services.rows);
    for (const plan of plans) {
      for (const one of plan.cases) {
        const found = await matrix.faultsOf({ ...plan, cases: [one], controls: [] });
        const tried = found.filter((fault) => !fault.includes(REFUSED_OWNER));
        for (const position of one.positions) {
          const name = `${plan.operationId} ${nameOf(position)}`;
          faults.set(name, [...(faults.get(name) ?? []), ...tried]);
        }
      }
    }
  });
  afterAll(() => services.rows.setRowLevelSecurity(true));

  /** Identifiers that neither conditions nor row-level security protect. */
  const PROTECTED_OTHERWISE = {
    workspace: 'the access check compares the roles of the user',
    app: 'the query compares the apps of the user',
    cursor: 'the cursor is signed for its list and workspace',
    accountCode: 'the code is public',
  };

  /** A function of the database compares the workspace, in a condition of its own. */
  const BY_FUNCTIONS = ['changeServiceAccount path serviceAccountId', 'deleteServiceAccount path serviceAccountId'];

  it('each identifier is reported, unless something else protects it', () => {
    const expected = plans.flatMap(({ operationId, cases }) =>
      cases.flatMap(({ positions }) =>
        positions
          .filter((position) => !Object.hasOwn(PROTECTED_OTHERWISE, kindOf(position)!))
          .map((position) => `${operationId} ${nameOf(position)}`)
          .filter((name) => !BY_FUNCTIONS.includes(name)),
      ),
    );
    const reported = expected.filter((name) => (faults.get(name) ?? []).length > 0);

    expect([...new Set(reported)].sort()).toEqual([...new Set(expected)].sort());
  });

  it('each list is reported', async () => {
    const lists = plans.filter(({ operationId }) => /^list(Accounts|Recipients|Orders|Transfers)$/.test(operationId));
    for (const plan of lists) {
      expect(await matrix.faultsOf({ ...plan, cases: [] })).not.toEqual([]);
    }
  });
});

describe(`a workspace, in ${countOf(plans)} cases with conditions alone,`, () => {
  beforeAll(() => services.rows.setRowLevelSecurity(false));
  afterAll(() => services.rows.setRowLevelSecurity(true));

  it.each(plans)('is not disclosed or changed by $operationId', async (plan) => {
    expect(await new Matrix(plain, world, services.rows).faultsOf(plan)).toEqual([]);
  });

  it('is not disclosed or changed in a batch', async () => {
    expect(await SharedBatches.check(plain, world, services.rows)).toEqual([]);
  });
});

describe(`a workspace, in ${countOf(plans)} cases with row-level security alone,`, () => {
  it.each(plans)('is not disclosed or changed by $operationId', async (plan) => {
    expect(await new Matrix(unfiltered, world, services.rows).faultsOf(plan)).toEqual([]);
  });

  it('is protected in statements without conditions', () => {
    const sent = unfiltered.statements();
    const filtering = sent.filter(({ hasFilter }) => hasFilter).map(({ name }) => name);

    expect([...new Set(filtering)]).toEqual([]);
    expect(new Set(sent.filter(({ isChanged }) => isChanged).map(({ name }) => name)).size).toBeGreaterThan(50);
  });
});

describe('a batch of orders of two workspaces', () => {
  it('does not mix them, with conditions and row-level security', async () => {
    expect(await SharedBatches.check(plain, world, services.rows)).toEqual([]);
  });

  // The scope of the batch contains both workspaces, so the checks of references refuse the order.
  it('discloses and changes nothing with row-level security alone', async () => {
    expect(await SharedBatches.check(unfiltered, world, services.rows, false)).toEqual([]);
    expect(await world.canariesInOtherRows()).toEqual([]);
  });
});
