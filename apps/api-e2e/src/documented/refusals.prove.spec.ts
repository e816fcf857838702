/** The same tests with every operation for every reason, also through a gateway. */
import './refusals.spec.js';
