/** The same tests with more random runs. */
import './statements.spec.js';
