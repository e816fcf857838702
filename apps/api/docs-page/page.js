/* global location, window, SwaggerUIBundle */

/** The document is the same everywhere: its examples name the address of a demo. Here they name where this page came from. */
const DEMO_URL = 'http://127.0.0.1:3000';
const baseUrl = new URL('.', location.href).href.replace(/\/$/, '');

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

window.ui = SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  showExtensions: true,
  syntaxHighlight: { theme: 'tomorrow-night' },
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 3,
  docExpansion: 'list',
  validatorUrl: null,
  plugins: [marks, foldedHeaders],
  responseInterceptor: (response) => {
    if (response.url.endsWith('/openapi.json')) response.text = response.text.replaceAll(DEMO_URL, baseUrl);
    return response;
  },
});
