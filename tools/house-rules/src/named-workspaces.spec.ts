import { sqlStatementsIn, tablesOfWorkspaces, unnamedWorkspaces } from './named-workspaces.js';
import { files, read } from './workspace.js';

/** Statements that name no workspace, and why. */
const WITHOUT: Readonly<Record<string, string>> = {
  find_account_code: 'finds the workspace of a code',
  list_cells: 'counts the workspaces of each cell',
};
/** The queue is read over all workspaces: docs/adr/0005. */
const QUEUE = 'work';

const tables = tablesOfWorkspaces(
  files()
    .filter((file) => /^libs\/\w+\/migrations\/.*\.sql$/.test(file))
    .map(read)
    .join('\n'),
).filter((table) => table !== QUEUE);
const sources = files().filter(
  (file) => /^(?:libs|apps)\/[^/]+\/src\/.*\.ts$/.test(file) && !/\.spec\.ts$|\/testing\//.test(file),
);
const statements = sources.flatMap((file) => sqlStatementsIn(file, read(file)).map((one) => ({ file, ...one })));

describe('an SQL statement', () => {
  it('names the workspace of each table that it uses', () => {
    const unnamed = statements.flatMap(({ file, name, text }) =>
      name in WITHOUT ? [] : unnamedWorkspaces(text, tables).map((table) => `${file} ${name}: ${table}`),
    );

    expect(unnamed).toEqual([]);
    expect(statements.length).toBeGreaterThan(200);
    expect(tables.length).toBeGreaterThan(30);
  });

  it('is left out of the rule only while it exists and would break it', () => {
    const breaking = statements.filter(({ text }) => unnamedWorkspaces(text, tables).length > 0);

    expect(breaking.map(({ name }) => name).sort()).toEqual(Object.keys(WITHOUT).sort());
  });

  it.each([
    ['select 1 from transfer t where t.id = $1', ['transfer']],
    ['select 1 from transfer t where t.workspace_id = $1', []],
    ['select 1 from leg l where l.id = $1', ['leg']],
    ['select 1 from transfer where workspace_id = $1 and id = $2', []],
    ['select 1 from transfer t join account a on a.id = t.account_id where t.workspace_id = $1', ['account']],
    ['select 1 from account a where a.workspace_id = $1 union select 1 from account a where a.id = $2', ['account']],
    [`select format('from transfer %s', t.id) from payout t where t.workspace_id = $1`, []],
    ['update quote set status = $1 where id = $2', ['quote']],
    ['delete from quote q using quote_use u where q.workspace_id = $1 and u.workspace_id = $1', []],
  ])('is judged by its names: %s', (text, expected) => {
    expect(unnamedWorkspaces(text, tables)).toEqual(expected);
  });
});
