/** The same tests with more random runs. */
import './reference-changes.spec.js';
