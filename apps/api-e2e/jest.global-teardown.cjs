/** Stops the service, which must succeed, and looks through all it has logged for what a log may not hold. */
module.exports = () => globalThis.serviceOfTheRun?.finish();
