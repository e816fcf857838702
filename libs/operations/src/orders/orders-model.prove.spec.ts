/** The same test with more random runs. */
import './orders-model.spec.js';
