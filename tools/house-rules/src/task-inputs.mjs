import { checkFilesAreInputs } from 'nx/src/hasher/check-task-files.js';

/** Reads `{task: files}` from standard input and prints, in the same form, the files that are no inputs of the task. */
let text = '';
for await (const chunk of process.stdin) text += chunk;
const unmatched = {};
for (const [task, files] of Object.entries(JSON.parse(text))) {
  unmatched[task] = (await checkFilesAreInputs(task, files)).unmatched;
}
console.log(JSON.stringify(unmatched));
