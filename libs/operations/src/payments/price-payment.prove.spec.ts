/** The same tests with more random runs. */
import './price-payment.spec.js';
