import { spawn } from 'node:child_process';
import { type KeyObject, verify } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { type AnchorSigner, keyIdOf } from '@banking/books-proof';
import { Refused } from './refused.js';

const SIGNATURE_BYTES = 64;

/**
 * A signer that runs a shell command, such as one that calls a key management service. The command reads the statement from standard
 * input, and writes the signature to standard output: 64 bytes, or their base64. Its standard error is that of this process.
 */
export function signingCommand(command: string, publicKey: KeyObject): AnchorSigner {
  return {
    keyId: keyIdOf(publicKey),
    sign: async (text) => {
      const signature = decoded(await outputOf(command, text));
      if (!signature || !verify(null, Buffer.from(text), publicKey, signature)) {
        throw new Refused(
          'The sign command returned no Ed25519 signature of the statement by the key of --public-key.',
        );
      }
      return signature;
    },
  };
}

async function outputOf(command: string, input: string): Promise<Buffer> {
  const child = spawn(command, { shell: true, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<string | undefined>((done) => {
    child.once('error', (error) => done(error.message));
    child.once('close', (code, signal) => done(code === 0 ? undefined : `it ended with ${code ?? signal}`));
  });
  // A command that does not read its input closes the pipe early. Its result is judged by its exit code and its output.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const [output, failure] = await Promise.all([buffer(child.stdout), ended]);
  if (failure !== undefined) throw new Refused(`The sign command failed: ${failure}.`);
  return output;
}

function decoded(output: Buffer): Buffer | undefined {
  if (output.length === SIGNATURE_BYTES) return output;
  const bytes = Buffer.from(output.toString('latin1').trim(), 'base64');
  return bytes.length === SIGNATURE_BYTES ? bytes : undefined;
}
