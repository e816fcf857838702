/** The same test with more requests. */
import './requests.spec.js';
