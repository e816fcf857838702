const { removeDemoTemplate } = require('../../tools/test-run/demo-template.cjs');

/** Stops the service, which must succeed, and searches its log for what a log may not hold. */
module.exports = async () => {
  try {
    await globalThis.serviceOfTheRun?.finish();
  } finally {
    await removeDemoTemplate();
  }
};
