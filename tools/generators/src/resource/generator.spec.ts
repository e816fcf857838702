import { resolve } from 'node:path';
import { FsTree } from 'nx/src/generators/tree';
import { addResource } from './generator.cjs';

const ROOT = resolve(__dirname, '../../../..');

/** The files of this repository with the changes of the generator, which are never written. */
function added(name: string, plural?: string) {
  const tree = new FsTree(ROOT, false);
  addResource(tree, plural === undefined ? { name } : { name, plural });
  return { tree, changes: tree.listChanges() };
}

describe('nx g @banking/tools:resource', () => {
  const { tree, changes } = added('standing-order');
  const pathsOf = (type: string) =>
    changes
      .filter((change) => change.type === type)
      .map(({ path }) => path)
      .sort();

  it('creates the files of a resource in the folders of their packages', () => {
    expect(pathsOf('CREATE')).toEqual([
      'apps/api/src/standing-orders/standing-order.dto.ts',
      'apps/api/src/standing-orders/standing-orders.controller.spec.ts',
      'apps/api/src/standing-orders/standing-orders.controller.ts',
      'apps/api/src/standing-orders/standing-orders.docs.ts',
      'apps/api/src/standing-orders/standing-orders.module.ts',
      'libs/domain/src/resources/standing-order.ts',
      expect.stringMatching(/^libs\/operations\/migrations\/\d{4}-standing-orders\.sql$/),
      'libs/operations/src/resources/compose-standing-order.ts',
      'libs/operations/src/standing-orders/get-standing-order.ts',
    ]);
  });

  it('adds the resource to each file that lists resources', () => {
    expect(pathsOf('UPDATE')).toEqual([
      'apps/api/src/access/access-matrix.ts',
      'apps/api/src/app.module.ts',
      'apps/api/src/docs/openapi.ts',
      'docs/flows.md',
      'libs/client/src/remote-banking-service.ts',
      'libs/deployment/src/cells/cells-banking-service.ts',
      'libs/domain/src/banking-service.ts',
      'libs/domain/src/ids.ts',
      'libs/domain/src/index.ts',
      'libs/domain/src/refusal-rows/denied.ts',
      'libs/operations/src/ledger-banking-service.ts',
    ]);
  });

  it('leaves no placeholder in a path or a text', () => {
    const created = changes.filter(({ type }) => type === 'CREATE');

    expect(created.filter(({ path }) => /<%|%>|__/.test(`${path}\n${tree.read(path, 'utf8')}`))).toEqual([]);
  });

  it('takes the next number of all migrations', () => {
    const numbers = ['ledger', 'payouts', 'operations']
      .flatMap((library) => new FsTree(ROOT, false).children(`libs/${library}/migrations`))
      .map((file) => Number(file.slice(0, 4)));

    const migration = changes.find(({ path }) => path.endsWith('.sql'))!.path;
    expect(Number(/(\d{4})-[^/]*$/.exec(migration)?.[1])).toBe(Math.max(...numbers) + 1);
  });

  it('uses the plural that is given', () => {
    const paths = added('criterion', 'criteria').changes.map(({ path }) => path);

    expect(paths).toContain('apps/api/src/criteria/criteria.controller.ts');
  });

  it.each([
    ["'StandingOrder' is not a valid name", 'StandingOrder', undefined],
    ["'../evil' is not a valid name", '../evil', undefined],
    ["'2nd' is not a valid name", '2nd', undefined],
    ["'a--b' is not a valid name", 'a--b', undefined],
    ["'Coupons' is not a valid name", 'coupon', 'Coupons'],
    ["'order' is a key word of SQL", 'order', undefined],
    ['The plural must differ from the name', 'coupon', 'coupon'],
    ['The resource exists: apps/api/src/transfers', 'transfer', undefined],
    ['The domain exports Rate already', 'rate', undefined],
  ])('refuses with "%s"', (message, name, plural) => {
    expect(() => added(name, plural)).toThrow(message);
  });

  it('refuses to change a file that has no place for the entry', () => {
    const tree = new FsTree(ROOT, false);
    tree.write('apps/api/src/access/access-matrix.ts', 'export const ACCESS = {};\n');

    expect(() => addResource(tree, { name: 'coupon' })).toThrow(
      'apps/api/src/access/access-matrix.ts has no "getLiveness:"',
    );
  });
});
