import { userInfo } from 'node:os';
import { type AddHelpTextContext, Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { FORBIDDEN_CHARACTERS, hasForbiddenCharacter, parseId, type WorkspaceId } from '@banking/domain';
import { Refused } from './print.js';

type HelpText = (context: AddHelpTextContext) => string;

/** Text of the help that the usage after a mistake leaves out. */
export function onRequest(text: string): HelpText {
  return ({ error }) => (error ? '' : `\n${text}`);
}

export function examples(...lines: readonly string[]): HelpText {
  return onRequest([lines.length === 1 ? 'Example:' : 'Examples:', ...lines.map((line) => `  $ ${line}`)].join('\n'));
}

/** An argument that is stored, such as a new name. */
export function nameArgument(name: string, description: string): Argument {
  return new Argument(name, description).argParser(parseName);
}

/** An option whose value is stored. */
export function nameOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser(parseName);
}

/** An argument that names a file or a stored resource, which may be older than the rule of `nameArgument`. */
export function lookupArgument(name: string, description: string): Argument {
  return new Argument(name, description).argParser(parseLookup);
}

/** One or more arguments that name files. */
export function lookupArguments(name: string, description: string): Argument {
  const collect = (text: string, before: readonly string[] = []) => [...before, parseLookup(text)];
  return new Argument(name, description).argParser<readonly string[]>(collect);
}

/** An option that names a file or a stored resource. */
export function lookupOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser(parseLookup);
}

export function workspaceArgument(): Argument {
  return new Argument('<id>', 'id of a workspace; see banking workspace list').argParser(parseIdOf<WorkspaceId>);
}

export function workspaceOption(description: string): Option {
  return new Option('--workspace <id>', description).argParser(parseIdOf<WorkspaceId>);
}

export function typeOption(): Option {
  return new Option('--type <type>', 'type (business)').choices(['business', 'personal']);
}

export function jsonOption(): Option {
  return new Option('--json', 'print JSON, for programs');
}

const NOTE_MAX = 500;

/** @throws Refused if the note of an operator is longer than the database stores */
export function refuseLongNote(note: string): void {
  if (note.length > NOTE_MAX)
    throw new Refused(`The note has ${note.length} characters. At most ${NOTE_MAX} are allowed.`);
}

export interface JsonOptions {
  readonly json?: boolean;
}

/** The account of the operating system: its name, or its id if it has no name, as in some containers. */
export function osUserName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}

/** Refuses an option with one value that is given twice, because commander would use the last value silently. */
export function refuseRepeatedOptions(command: Command): void {
  for (const option of command.options.filter(({ required, variadic }) => required && !variadic)) {
    let given = 0;
    command.on(`option:${option.name()}`, () => {
      given += 1;
      if (given > 1) command.error(`error: option '${option.flags}' is given more than once`);
    });
  }
  command.commands.forEach(refuseRepeatedOptions);
}

/** Names the help of a command after a mistake in it. The help itself would be longer than a terminal, below the mistake. */
export function nameHelpAfterErrors(command: Command, path = command.name()): void {
  command.showHelpAfterError(`See ${path} --help.`);
  for (const one of command.commands) nameHelpAfterErrors(one, `${path} ${one.name()}`);
}

function parseName(text: string): string {
  const name = parseLookup(text);
  if (hasForbiddenCharacter(name)) throw new InvalidArgumentError(`It must not contain ${FORBIDDEN_CHARACTERS}.`);
  return name;
}

function parseLookup(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('It must not be empty.');
  if (text.trim() !== text) throw new InvalidArgumentError('It must not begin or end with a space.');
  if (/\p{Cc}/u.test(text)) throw new InvalidArgumentError('It must not contain control characters.');
  return text;
}

export function parseIdOf<T extends number>(text: string): T {
  const id: number | undefined = parseId<WorkspaceId>(text);
  if (id === undefined) throw new InvalidArgumentError('Write an id as digits, such as 42.');
  return id as T;
}
