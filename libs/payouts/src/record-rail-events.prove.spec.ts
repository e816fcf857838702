/** The same tests with more random runs. */
import './record-rail-events.spec.js';
