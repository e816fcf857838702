import { offlineDocument } from '../documented/read-document.js';
import { testOrProve } from '@banking/postgres/testing';
import { type Case, type CallerName, countOf, kindOf, type Plan, plansOf } from './cases.js';
import { routesOf } from '../documented/document.js';
import { Matrix } from './matrix.js';
import { IDENTIFIERS, NO_IDENTIFIERS } from './classification.js';
import { nameOf, positionsOf } from '../documented/inputs.js';
import { Services } from './services.js';
import { makeWorld, type World } from './world.js';

const document = offlineDocument();
/** Each of them acts in a workspace of its own. */
const CALLERS: readonly CallerName[] = ['stranger', 'neighbour', 'sharer'];

/** Whether the access check compares what the caller may see, and not a statement the workspace of the request. */
const isOfAccess = ({ positions }: Case) => positions.some((one) => ['workspace', 'app'].includes(kindOf(one)!));

/** The cases of one caller, in turn, and those that depend on the caller. `npm run prove` tries all. */
function shortened(plan: Plan, index: number): Plan {
  const caller = CALLERS[index % CALLERS.length];
  const isChosen = (one: Case) => one.caller === caller || isOfAccess(one);
  const cases = plan.cases.filter(isChosen);
  return {
    ...plan,
    cases,
    controls: plan.controls.filter((one) => cases.some((other) => other.caller === one.caller)),
  };
}

const all = plansOf(document);
const plans = testOrProve(all.map(shortened), all);

describe('a position of the OpenAPI document', () => {
  it('is classified once, as an identifier of a kind or as no identifier', () => {
    const positions = new Set(routesOf(document).flatMap((route) => positionsOf(document, route).map(nameOf)));
    const classified = [...Object.keys(IDENTIFIERS), ...Object.keys(NO_IDENTIFIERS)];

    expect(classified.sort()).toEqual([...positions].sort());
  });
});

describe('the cases', () => {
  it('try every identifier of every operation', () => {
    const identifiersOf = ({ cases }: Plan) => new Set(cases.flatMap(({ positions }) => positions.map(nameOf)));

    expect(plans.map(identifiersOf)).toEqual(all.map(identifiersOf));
  });
});

describe(`a workspace, in ${countOf(plans)} cases with conditions and row-level security,`, () => {
  let services: Services;
  let world: World;
  let matrix: Matrix;

  beforeAll(async () => {
    services = await Services.open();
    const service = await services.start();
    world = await makeWorld(service, services.rows, plans);
    matrix = new Matrix(service, world, services.rows);
  });
  afterAll(() => services?.stop());

  it.each(plans)('is not disclosed or changed by $operationId', async (plan) => {
    expect(await matrix.faultsOf(plan)).toEqual([]);
  });

  it('is not named in the rows of another', async () => {
    expect(await world.canariesInOtherRows()).toEqual([]);
  });
});
