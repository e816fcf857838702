/* global crypto, document, localStorage, location, window, SwaggerUIBundle */

/** Where the paths of the service begin, as this browser reached it: also behind a proxy that removes a prefix. */
const baseUrl = new URL('.', location.href).href.replace(/\/$/, '');

/** A sandbox keeps the token in the browser, so that a reload does not ask for it again. Elsewhere it lives in memory only. */
const isSandbox = document.documentElement.dataset.sandbox === 'on';
if (!isSandbox) localStorage.removeItem('authorized');

/** Stands in the field of an idempotency key until the reader writes a key of their own. */
const KEY_PER_TRY = 'made-anew-for-each-try';

/** The document with the address of this page, and without keys that an earlier try has used. */
function asShownHere(text) {
  const openapi = JSON.parse(text);
  openapi.servers = [{ url: baseUrl, description: 'This deployment' }];
  openapi.info.description = openapi.info.description.replace(
    /export BASE_URL=\S+/,
    () => `export BASE_URL=${baseUrl}`,
  );
  for (const { parameters = [] } of Object.values(openapi.paths).flatMap((item) => Object.values(item))) {
    for (const parameter of parameters.filter(({ name }) => name === 'Idempotency-Key')) {
      delete parameter.examples;
      parameter.example = KEY_PER_TRY;
    }
  }
  return JSON.stringify(openapi);
}

/** 128 random bits in hex. `crypto.randomUUID` is missing on pages that came over http. */
const newKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** The words of `x-provenance`, as the introduction explains them. */
const MARKS = {
  stated: 'stated: in the published interface',
  known: 'known: what callers of this family of interfaces expect',
  ours: 'ours: decided here, where the published interface says nothing',
};

/** Says beside the path of an operation where it comes from, instead of in a table of extensions below it. */
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
        operation?.get('deprecated') && mark('deprecated', 'deprecated: the description says what replaces it'),
        provenance && mark(provenance, MARKS[provenance]),
      );
    },
    OperationExt: () => () => null,
  },
});

/** Folds the headers of an answer: they matter less than what it says. */
const foldedHeaders = ({ React }) => ({
  wrapComponents: {
    headers: (Headers) => (props) => {
      const names = [...(props.headers?.keys() ?? [])];
      if (names.length === 0) return null;
      const summary = React.createElement('summary', null, `Headers: ${names.join(', ')}`);
      return React.createElement('details', { className: 'headers' }, summary, React.createElement(Headers, props));
    },
  },
});

/** Keeps the token out of the form history of the browser. */
const forgetfulInput = ({ React }) => ({
  wrapComponents: {
    Input: (Input) => (props) => React.createElement(Input, { ...props, autoComplete: 'off' }),
  },
});

window.ui = SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  persistAuthorization: isSandbox,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  showExtensions: true,
  syntaxHighlight: { theme: 'tomorrow-night' },
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 3,
  docExpansion: 'list',
  validatorUrl: null,
  plugins: [marks, foldedHeaders, forgetfulInput],
  requestInterceptor: (request) => {
    if (request.headers['Idempotency-Key'] === KEY_PER_TRY) request.headers['Idempotency-Key'] = newKey();
    return request;
  },
  responseInterceptor: (response) => {
    if (response.url.endsWith('/openapi.json') && response.ok) response.text = asShownHere(response.text);
    return response;
  },
});
