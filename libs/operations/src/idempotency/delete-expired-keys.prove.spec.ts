/** The same test with more expired records. */
import './delete-expired-keys.spec.js';
