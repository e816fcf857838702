import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RULE_VIOLATION } from '@banking/postgres';
import { MIGRATIONS } from './index.js';

describe('RULE_VIOLATION', () => {
  it('names every SQLSTATE that a migration raises, and no other', () => {
    const files = readdirSync(MIGRATIONS.folder);
    const raised = files.flatMap(
      (file) => readFileSync(join(MIGRATIONS.folder, file), 'utf8').match(/'BK\d{3}'/g) ?? [],
    );
    const codes = new Set(raised.map((literal) => literal.slice(1, -1)));

    expect([...codes].sort()).toEqual(Object.values(RULE_VIOLATION).sort());
  });
});
