/** The same tests with more rows. */
import './queue-ranges.spec.js';
