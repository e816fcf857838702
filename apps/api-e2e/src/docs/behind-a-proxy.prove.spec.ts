/** The same at three widths. */
import './behind-a-proxy.spec.js';
