/* global crypto, DOMParser, document, location, window, SwaggerUIBundle */
import { localReferences } from './references.js';
import { foldedResponses } from './responses.js';
import { removeStoredToken, topBar, triesOut } from './top-bar.js';

/** The address of the service as this browser reached it, also behind a proxy that removes a prefix. */
const baseUrl = new URL('.', location.href).href.replace(/\/$/, '');

const storesToken = removeStoredToken();

/** The placeholder in the field of an idempotency key. A request with it gets a new key. */
const NEW_KEY = 'new-key-for-each-request';

/** The document with the address of this page, and without example keys that a request has used. */
function adapted(text) {
  const openapi = JSON.parse(text);
  openapi.servers = [{ url: baseUrl, description: 'This deployment' }];
  openapi.info.description = openapi.info.description.replace(
    /export BASE_URL=\S+/,
    () => `export BASE_URL=${baseUrl}`,
  );
  for (const { parameters = [] } of Object.values(openapi.paths).flatMap((item) => Object.values(item))) {
    for (const parameter of parameters.filter(({ name }) => name === 'Idempotency-Key')) {
      delete parameter.examples;
      parameter.example = NEW_KEY;
    }
  }
  return JSON.stringify(openapi);
}

/** 128 random bits in hex. Browsers omit `crypto.randomUUID` on pages loaded over http. */
const newKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** The titles of the values of `x-provenance`. */
const MARKS = {
  stated: 'stated: the published interface defines it',
  known: 'known: callers of this family of interfaces expect it',
  ours: 'ours: this service defines it',
};

/** Shows the provenance of an operation beside its path, instead of in a table of extensions below it. */
const marks = ({ React, specSelectors }) => ({
  wrapComponents: {
    OperationSummaryPath: (Path) => (props) => {
      const operation = specSelectors.specJson().getIn(props.specPath);
      const provenance = operation?.get('x-provenance');
      const mark = (word, title) => React.createElement('span', { className: `mark ${word}`, title }, word);
      return React.createElement(
        React.Fragment,
        null,
        React.createElement(Path, props),
        provenance && mark(provenance, MARKS[provenance]),
      );
    },
    OperationExt: () => () => null,
  },
});

/** Keeps the token out of the form history of the browser. */
const inputWithoutHistory = ({ React }) => ({
  wrapComponents: {
    Input: (Input) => (props) => React.createElement(Input, { ...props, autoComplete: 'off' }),
  },
});

/**
 * Puts each diagram of states into the page instead of its picture, so that its text can be selected and searched. The style of the picture
 * stays out: the page has one, and permits no other.
 */
async function inlineDiagrams() {
  for (const picture of document.querySelectorAll('.info img[src$="-states.svg"]')) {
    const response = await fetch(picture.src);
    if (!response.ok) continue;
    const text = (await response.text()).replace(/<style>.*?<\/style>/s, '');
    const diagram = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement;
    const frame = document.createElement('div');
    frame.className = 'diagram';
    // A diagram that is wider than a phone is scrolled, also with the keyboard.
    frame.tabIndex = 0;
    frame.setAttribute('role', 'group');
    frame.setAttribute('aria-label', picture.alt);
    frame.append(document.importNode(diagram, true));
    (picture.closest('p') ?? picture).replaceWith(frame);
  }
}

window.ui = SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  persistAuthorization: storesToken,
  tryItOutEnabled: triesOut,
  ...(triesOut ? {} : { supportedSubmitMethods: [] }),
  displayRequestDuration: true,
  showExtensions: true,
  syntaxHighlight: { theme: 'tomorrow-night' },
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 3,
  docExpansion: 'list',
  validatorUrl: null,
  onComplete: inlineDiagrams,
  plugins: [localReferences, topBar, marks, foldedResponses, inputWithoutHistory],
  requestInterceptor: (request) => {
    if (request.headers['Idempotency-Key'] === NEW_KEY) request.headers['Idempotency-Key'] = newKey();
    return request;
  },
  responseInterceptor: (response) => {
    if (response.url.endsWith('/openapi.json') && response.ok) response.text = adapted(response.text);
    return response;
  },
});
