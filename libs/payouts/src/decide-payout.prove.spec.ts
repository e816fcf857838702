/** The same tests with more random runs. */
import './decide-payout.spec.js';
