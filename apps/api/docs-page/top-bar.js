/* global atob, document, localStorage */

/** What the deployment offers on this page. The server writes it. */
const { sandbox, signIn: demoUser, tryItOut } = document.documentElement.dataset;

/** A sandbox stores the token in the browser, so that a reload keeps it. Other deployments keep it in memory only. */
const isSandbox = sandbox === 'on';

/** Whether the page sends requests. Otherwise it only describes them. */
export const triesOut = tryItOut === 'on';

/** The claims of a token, which only the service can verify. Undefined for a token in another form. */
function claimsOf(token) {
  try {
    const [, claims] = token.split('.');
    return JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/')));
  } catch {
    return undefined;
  }
}

/** The stored token. Another program of the same origin may have stored what is none. */
function storedToken() {
  const stored = localStorage.getItem('authorized') ?? '{}';
  try {
    return JSON.parse(stored)?.bearer?.value;
  } catch {
    localStorage.removeItem('authorized');
  }
}

/**
 * Removes a stored token that a live deployment must not keep, or that has expired. Call it before Swagger UI reads the token.
 *
 * @returns whether the page may store a token: not if the browser refuses storage
 */
export function removeStoredToken() {
  try {
    const { exp = Infinity } = claimsOf(storedToken()) ?? {};
    if (!isSandbox || exp * 1000 < Date.now()) localStorage.removeItem('authorized');
    return isSandbox;
  } catch {
    return false;
  }
}

/** Gets a token of the demo user and authorizes with it. @throws Error with the message of the service */
async function signIn({ authActions, specSelectors }) {
  const response = await fetch('docs/sign-in', { method: 'POST' });
  const { token, message } = await response.json();
  if (!response.ok) throw new Error(message);
  const schema = specSelectors.securityDefinitions().get('bearer');
  authActions.authorizeWithPersistOption({ bearer: { name: 'bearer', schema, value: token } });
  authActions.showDefinitions(false);
}

/** `Mia` for `mia@harbour.example`. */
const nameOf = (email) => email.replace(/@.*/, '').replace(/^./, (letter) => letter.toUpperCase());

/** The bar at the top of the window: the kind of the deployment, who is signed in, and the buttons that change it. */
export const topBar = ({ React }) => {
  const { createElement, Fragment, useState } = React;

  const SignIn = (system) => {
    const [failure, setFailure] = useState();
    const onClick = () =>
      signIn(system).then(
        () => setFailure(undefined),
        (error) => setFailure(error.message),
      );
    return createElement(
      Fragment,
      null,
      failure && createElement('span', { role: 'alert' }, `Sign-in failed: ${failure}`),
      createElement('button', { type: 'button', className: 'btn sign-in', onClick }, `Sign in as ${nameOf(demoUser)}`),
    );
  };

  const TopBar = (system) => {
    const { authActions, authSelectors, specSelectors, getComponent } = system;
    if (!specSelectors.securityDefinitions()) return null;
    const token = authSelectors.authorized().getIn(['bearer', 'value']);
    const signOut = () => authActions.logoutWithPersistOption(['bearer']);
    const signedIn = token ? `Signed in as ${claimsOf(token)?.email ?? 'the owner of your token'}` : 'Not signed in';
    const status = triesOut ? signedIn : 'This page sends no requests';
    return createElement(
      'header',
      { className: 'swagger-ui top-bar' },
      createElement(
        'div',
        { className: 'wrapper' },
        createElement('span', { className: `deployment ${sandbox}` }, isSandbox ? 'Sandbox' : 'Live'),
        createElement('span', { className: 'status', role: 'status' }, status),
        demoUser && !token && createElement(SignIn, system),
        token && createElement('button', { type: 'button', className: 'btn sign-out', onClick: signOut }, 'Sign out'),
        triesOut &&
          createElement(getComponent('authorizeBtn'), {
            onClick: () => authActions.showDefinitions(authSelectors.definitionsToAuthorize()),
            isAuthorized: token !== undefined,
            showPopup: Boolean(authSelectors.shownDefinitions()),
            getComponent,
          }),
      ),
    );
  };

  return {
    components: { TopBar },
    wrapComponents: {
      BaseLayout:
        (Layout, { getComponent }) =>
        (props) =>
          createElement(Fragment, null, createElement(getComponent('TopBar', true)), createElement(Layout, props)),
      // The bar has the button, and the only server is the one of this page.
      AuthorizeBtnContainer: () => () => null,
      ServersContainer: () => () => null,
      auths: (Auths, system) => (props) => {
        const isOffered = demoUser && props.authSelectors.authorized().isEmpty();
        return createElement(
          Fragment,
          null,
          isOffered &&
            createElement(
              'div',
              { className: 'sign-in-instead' },
              createElement('p', null, 'A user of the demo data, with one click:'),
              createElement(SignIn, system),
              createElement('p', null, 'Or any other user, with a token:'),
            ),
          createElement(Auths, props),
        );
      },
    },
    statePlugins: {
      // Swagger UI would scroll an operation behind the bar. `scroll-padding-top` is the height of the bar.
      layout: { wrapActions: { scrollToElement: () => (element) => element.scrollIntoView() } },
    },
  };
};
