/** The same tests with more random runs. */
import './approval-laws.spec.js';
