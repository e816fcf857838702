/** The same tests with more rounds of the requests at once. */
import './change-orders.spec.js';
