/** The same tests with more random runs. */
import './discrepancies.spec.js';
