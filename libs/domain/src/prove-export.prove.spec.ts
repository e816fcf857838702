/** The same tests with more random runs. */
import './prove-export.spec.js';
