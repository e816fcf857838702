import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OPERATIONS, ROLE_NAMES, type RoleName } from '@banking/domain';
import { needsRole } from './access-check.js';
import { suffices } from './role-lookup.js';

const DOCUMENT = join(__dirname, '..', '..', '..', '..', 'docs', 'who-may-do-what.md');

/** The roles of each operation in the table of the document. */
function documented(text: string): Readonly<Record<string, readonly string[]>> {
  const rows = [...text.matchAll(/^\| `(\w+)` +\|(.*)\|$/gm)].filter(([, name = '']) => name in OPERATIONS);
  return Object.fromEntries(
    rows.map(([, name, cells = '']) => [
      name,
      ROLE_NAMES.filter((_, index) => cells.split('|')[index]?.trim() === 'yes'),
    ]),
  );
}

describe('the matrix of roles and operations', () => {
  const text = readFileSync(DOCUMENT, 'utf8');
  const rows = Object.entries(OPERATIONS).map(([name, { access }]) => [name, access] as const);

  it('is the table of the document', () => {
    const expected = rows.flatMap(([name, access]) => (needsRole(access) ? [[name, [...access]] as const] : []));

    expect(documented(text)).toEqual(Object.fromEntries(expected));
  });

  it('names in the document the operations that need no role', () => {
    const section = text.slice(text.indexOf('## Operations by role'), text.indexOf('| Operation'));

    const named = [...section.matchAll(/`(\w+)`/g)].map(([, name = '']) => name).filter((name) => name in OPERATIONS);
    expect(named.sort()).toEqual(rows.flatMap(([name, access]) => (needsRole(access) ? [] : [name])).sort());
  });

  it('lets every role read, and none do what another one alone may', () => {
    const ofOne = (role: RoleName) =>
      rows.flatMap(([name, access]) => (needsRole(access) && suffices([role], access) ? [name] : []));

    for (const role of ROLE_NAMES) expect(ofOne(role)).toEqual(expect.arrayContaining(ofOne('viewer')));
    expect(ofOne('admin')).not.toContain('placeOrder');
    expect(ofOne('member')).not.toContain('changeMember');
    expect(ofOne('viewer').filter((name) => !/^(list|get)/.test(name))).toEqual([]);
  });
});
