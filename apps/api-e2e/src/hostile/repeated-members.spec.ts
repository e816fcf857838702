import { callOf, type Document, type Route, routesOf } from '../documented/document.js';
import { openApiOf } from '../responses.js';
import { ADA, serviceOfTheRun } from '../service.js';
import { sendRawRequest, faultsInError } from './raw-request.js';

const service = serviceOfTheRun();

const escapedName = (name: string) =>
  name.replace(/^./, (first) => `\\u${first.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** A body whose first member is repeated in different spellings. */
const REPEATED: Readonly<Record<string, (name: string, value: string, rest: string) => string>> = {
  'with the same value': (name, value, rest) => `{"${name}":${value}${rest},"${name}":${value}}`,
  'with another value': (name, value, rest) => `{"${name}":null${rest},"${name}":${value}}`,
  'with its name escaped': (name, value, rest) => `{"${escapedName(name)}":${value}${rest},"${name}":${value}}`,
  'one level deeper': (name, value, rest) => `{"${name}":${value}${rest},"more":{"a":1,"a":1}}`,
  'in a list': (name, value, rest) => `{"${name}":${value}${rest},"more":[[{"a":1,"b":2,"a":3}]]}`,
};

it.each(Object.entries(REPEATED))('refuses a body with a repeated member %s, without naming it', async (_, written) => {
  const token = await service.tokenOf(ADA);
  const routes = routesOf((await openApiOf(service)) as unknown as Document).filter(
    ({ operation }) => operation.requestBody,
  );
  expect(routes.length).toBeGreaterThanOrEqual(8);
  for (const route of routes) {
    const [first, ...others] = Object.entries(callOf(route).body as Record<string, unknown>);
    const [name, value] = first ?? ['a', 1];
    const rest = others.map(([other, one]) => `,${JSON.stringify({ [other]: one }).slice(1, -1)}`).join('');

    const response = await send(route, token, written(name, JSON.stringify(value), rest));

    expect([route.operation.operationId, response.status, faultsInError(response)]).toEqual([
      route.operation.operationId,
      400,
      [],
    ]);
    expect(JSON.parse(response.body)).toMatchObject({
      reason: 'body_malformed',
      message: 'The body gives a member of an object twice. Send each name once.',
    });
  }
});

function send(route: Route, token: string, text: string) {
  const { method, path, headers } = callOf(route);
  const lines = Object.entries({
    ...headers,
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(text)),
  });
  return sendRawRequest(service.url, { method, path, headers: lines.map((line) => line.join(': ')), body: text });
}
