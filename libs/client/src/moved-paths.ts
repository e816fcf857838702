import { type ReceivedResponse, isJson, reasonOf } from './read-response.js';
import type { Call } from './transport.js';

/** A 404 with one of these reasons comes from an existing path: the record is missing. */
const MISSING_RECORD = ['country_unknown', 'corridor_not_found'];

/**
 * Sends a call to the path that the deployment has: of the current interface, or of its former revision.
 *
 * A 404 without the reason of a missing record may mean that the path is unknown, so the other path is tried once. The
 * path of the first success is used from then on.
 */
export class MovedPaths {
  /** The path of the first success, by operation. */
  readonly #known = new Map<string, 'path' | 'formerPath'>();

  async send(call: Call, send: (call: Call) => Promise<ReceivedResponse>): Promise<ReceivedResponse> {
    const { operation, path, formerPath } = call;
    if (formerPath === undefined) return send(call);
    const paths = { path, formerPath };
    const sendTo = async (name: keyof typeof paths) => {
      const received = await send({ ...call, path: paths[name] });
      if (isSuccess(received)) this.#known.set(operation, name);
      return received;
    };

    const known = this.#known.get(operation);
    const first = await sendTo(known ?? 'path');
    const isPathUnknown = first.response.status === 404 && !MISSING_RECORD.includes(reasonOf(first));
    if (!isPathUnknown || known === 'path') return first;
    const second = await sendTo(known === undefined ? 'formerPath' : 'path');
    return isSuccess(second) || isTransient(second) ? second : first;
  }
}

/** JSON, because a web server may answer every path with a page. */
const isSuccess = ({ response }: ReceivedResponse) => response.status === 200 && isJson(response);

/** A failure that does not depend on the path. */
const isTransient = ({ response: { status } }: ReceivedResponse) => status === 429 || status >= 500;
