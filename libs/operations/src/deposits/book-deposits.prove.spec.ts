/** The same tests with more random runs. */
import './book-deposits.spec.js';
