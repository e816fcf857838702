import { verifyDeployment } from '@banking/books-proof';
import { readDemoBookings } from '@banking/operations/demo';
import { openDeployment } from '@banking/deployment';
import { allWorkspaces } from '@banking/operations/provisioning';

/** Of all that was written, in one SQL statement each. */
const VERIFY_MAX_MS = 10 * 60_000;

/** Verifies the books and the payments after a bench. @throws Error if there is a finding */
export async function proveBooks(dataDir: string): Promise<void> {
  const { database, close } = await openDeployment({
    dataDir,
    isSandbox: true,
    prepare: false,
    statementTimeoutMs: VERIFY_MAX_MS,
  });
  try {
    const ids = (await allWorkspaces(database)).map(({ id }) => id);
    const bookedWithoutOrder = await readDemoBookings(database);
    const { findings } = await verifyDeployment(database, ids, { isWhole: true, bookedWithoutOrder });
    const [first] = findings;
    if (first) throw new Error(`${findings.length} faults in the books: ${JSON.stringify(first)}`);
  } finally {
    await close();
  }
}
