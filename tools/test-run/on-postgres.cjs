const { readFileSync } = require('node:fs');
const { join, resolve } = require('node:path');

const WORKSPACE = resolve(__dirname, '../..');

const EVERY_TABLE = ['libs/ledger/migrations', 'libs/payouts/migrations', 'libs/operations/migrations'];
const SANDBOX = { 'banking.sandbox': 'on' };

/** As `npm run specs:in-a-cell` sets it. */
const isInCell = process.env.BANKING_TEST_IN_A_CELL === 'on';
/** What makes a migrated database a cell, and `SCOPE_CHECK` of libs/operations. */
const CELL = {
  sql: readFileSync(join(__dirname, 'make-cell.sql'), 'utf8'),
  scopeCheck: {
    listFunction: 'require_open_workspaces',
    isReadable: `exists (select from cell_workspace c where c.workspace_id = $1 and c.state = 'open')`,
  },
};

/**
 * For the jest.config.cjs of a project whose specs need a database. One server serves all projects of a run. Each spec gets a
 * copy of a template that has these migrations and no rows.
 *
 * @param folders of migrations, from the top of the workspace. Gaps are allowed.
 * @param parameters what the migrations read with `current_setting`.
 */
module.exports = (folders = EVERY_TABLE, parameters = SANDBOX) => ({
  globalSetup: join(__dirname, 'start-test-server.cjs'),
  globalTeardown: join(__dirname, 'stop-test-server.cjs'),
  globals: {
    testDatabase: {
      folders: folders.map((folder) => join(WORKSPACE, folder)),
      parameters,
      // The tables of cells are among the last migrations.
      ...(isInCell && folders === EVERY_TABLE && { cell: CELL }),
    },
  },
});
