/** The same test with more random runs. */
import './crossing-laws.spec.js';
