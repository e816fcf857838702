import { writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { newDataDir, RunningService } from '../running-service.js';
import { ADA, BOB, localToken } from '../service.js';
import { callOf, examplesInTurn, isOfMade, requestOf, routesOf, successOf } from './document.js';
import { EXAMPLES, fetchDocument, readExamples } from './read-document.js';
import { masked } from './examples.js';
import { makeApprovals, makeForExamples, makeInvitationIn, untilAudited } from './more-world.js';

const USAGE = `Usage: npm run examples

Starts the service with new demo data, sends the requests of apps/api/examples.json, and writes each response beside its
request. A response that differs in times and hashes only stays unchanged.
`;

async function main([option, ...rest]: readonly string[]): Promise<void> {
  if (option === '--help' && rest.length === 0) {
    process.stdout.write(USAGE);
  } else if (option !== undefined) {
    process.stderr.write(`${option} is not an option.\n\n${USAGE}`);
    process.exitCode = 2;
  } else {
    await record();
  }
}

async function record(): Promise<void> {
  process.stdout.write('Making demo data …\n');
  const folder = await newDataDir();
  const service = await RunningService.start({ dataDir: folder.path });
  try {
    const authorization = `Bearer ${await localToken(folder.path, ADA)}`;
    await untilAudited(service.url, authorization.slice('Bearer '.length), 'openAccount');
    await makeApprovals(service.url, authorization.slice('Bearer '.length), await localToken(folder.path, BOB));
    const document = await fetchDocument(service);
    const responses = new Map<string, unknown>();
    const current = routesOf(document).filter(({ operation }) => !operation.operationId.endsWith('Formerly'));
    const inTurn = examplesInTurn(current);
    await makeInvitationIn(folder.path);
    const [firstOfMade] = inTurn.find(([route]) => isOfMade(route)) ?? [];
    for (const [route, name] of inTurn) {
      if (route === firstOfMade) await makeForExamples(service.url, authorization.slice('Bearer '.length));
      const call = callOf(route, name);
      const { path, method } = call;
      const response = await fetch(`${service.url}${path}`, requestOf(call, authorization));
      // An order that waits for approvals is accepted.
      const isWaiting = response.status === 202 && route.operation.responses['202'] !== undefined;
      if (response.status !== successOf(route) && !isWaiting)
        throw new Error(`${method} ${path} returned ${response.status}: ${await response.text()}`);
      responses.set(`${route.operation.operationId}/${name}`, await response.json());
    }
    writeResponses(responses);
  } finally {
    await service.stop().finally(folder.remove);
  }
}

function writeResponses(responses: ReadonlyMap<string, unknown>): void {
  const written = Object.entries(readExamples()).map(([operation, examples]) => {
    const recorded = examples.map((example) => {
      const response = responses.get(`${operation}/${example.name}`);
      if (isDeepStrictEqual(masked(example.response), masked(response))) return example;
      process.stdout.write(`Wrote ${operation}, ${example.name}.\n`);
      return { ...example, response };
    });
    return [operation, recorded] as const;
  });
  writeFileSync(EXAMPLES, `${JSON.stringify(Object.fromEntries(written), null, 2)}\n`);
}

void main(process.argv.slice(2));
