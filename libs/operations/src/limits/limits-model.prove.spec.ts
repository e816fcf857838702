/** The same test with more random runs. */
import './limits-model.spec.js';
