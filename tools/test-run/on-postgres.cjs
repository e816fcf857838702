const { readFileSync } = require('node:fs');
const { join, resolve } = require('node:path');

const WORKSPACE = resolve(__dirname, '../..');

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
 * copy of a template that has the tables of the service and no rows.
 *
 * @param own a folder of migrations to have instead, from the top of the workspace.
 */
module.exports = (own) => ({
  globalSetup: join(__dirname, 'start-test-server.cjs'),
  globalTeardown: join(__dirname, 'stop-test-server.cjs'),
  globals: {
    testDatabase: {
      // The specs of libs/schema check the phases.
      migrations: { folder: join(WORKSPACE, own ?? 'libs/schema/migrations'), baseline: Number.MAX_SAFE_INTEGER },
      parameters: SANDBOX,
      ...(isInCell && own === undefined && { cell: CELL }),
    },
  },
});
