/** The same tests with more random runs. */
import './gateway/validate-response.spec.js';
import './input/input.pipe.spec.js';
