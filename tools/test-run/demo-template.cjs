const { execFile } = require('node:child_process');
const { resolve } = require('node:path');
const { promisify } = require('node:util');
const { makeDataDirTemplate } = require('@banking/postgres/testing');

const CLI = resolve(__dirname, '../../apps/cli/dist/main.js');

let template;

/** Makes a DATA_DIR with the demo data, once for all projects of a run. */
async function makeDemoTemplate() {
  template ??= makeDataDirTemplate(async (dataDir) => {
    const env = { PATH: process.env.PATH, DATA_DIR: dataDir };
    await promisify(execFile)(process.execPath, [CLI, 'demo'], { env });
  });
  await template;
}

async function removeDemoTemplate() {
  await (await template)?.remove();
}

module.exports = { makeDemoTemplate, removeDemoTemplate };
