/** How many of the slowest spec files are listed. */
const SLOWEST = 10;

/** Adds up what the checks of a run have found. */
export class Tally {
  passed = 0;
  failed = 0;
  skipped = 0;
  #complaints = [];
  #files = [];

  addTests(name, { passed, failed, skipped, files }) {
    this.passed += passed;
    this.failed += failed;
    this.skipped += skipped;
    this.#files.push(...files);
    if (failed > 0) this.#complaints.push(`${name}: ${failed} failed`);
  }

  /** Something that is no test has failed. It counts as one. */
  addFailure(complaint) {
    this.failed += 1;
    this.#complaints.push(complaint);
  }

  /** Prints the slowest spec files, the complaints, and the counts in the last line. Returns the exit code. */
  report() {
    const slowest = this.#files.toSorted((one, other) => other.ms - one.ms).slice(0, SLOWEST);
    if (slowest.length > 0) console.log('\nSlowest spec files, in seconds:');
    for (const { path, ms } of slowest) console.log(`${(ms / 1000).toFixed(1).padStart(7)}  ${path}`);
    console.log(['', ...this.#complaints.map((complaint) => `✖ ${complaint}`)].join('\n'));
    const skipped = this.skipped > 0 ? `, ${this.skipped} skipped` : '';
    console.log(`${this.passed} passed, ${this.failed} failed${skipped}`);
    return this.failed === 0 ? 0 : 1;
  }
}
