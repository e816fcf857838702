import { offlineDocument } from '../documented/read-document.js';
import { countOf, plansOf } from './cases.js';
import { routesOf } from '../documented/document.js';
import { Matrix } from './matrix.js';
import { IDENTIFIERS, NO_IDENTIFIERS } from './classification.js';
import { nameOf, positionsOf } from '../documented/inputs.js';
import { Services } from './services.js';
import { makeWorld, type World } from './world.js';

const document = offlineDocument();
const plans = plansOf(document);

describe('a position of the OpenAPI document', () => {
  it('is classified once, as an identifier of a kind or as no identifier', () => {
    const positions = new Set(routesOf(document).flatMap((route) => positionsOf(document, route).map(nameOf)));
    const classified = [...Object.keys(IDENTIFIERS), ...Object.keys(NO_IDENTIFIERS)];

    expect(classified.sort()).toEqual([...positions].sort());
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
