/** Fields that no operation accepts, because the service sets them, or because they are in the path or in a header. */
export const NOT_THEIRS = [
  'id',
  'workspaceID',
  'Workspace-ID',
  'workspaceId',
  'accountId',
  'code',
  'balance',
  'feeAmount',
  'approved',
  'role',
  'edges',
  'createdAt',
  'updatedAt',
  'deletedAt',
  'Status',
  'toString',
  'hasOwnProperty',
];

/** Bodies that are no object, for any operation. */
export const NO_OBJECTS: Readonly<Record<string, string>> = {
  'a truncated body': '{',
  'a list': '[]',
  'a list of one': '[{}]',
  'a number': '1',
  'a word': 'true',
  'a null': 'null',
  'a text': '"{}"',
  'a comment': '// c\n{}',
  'a byte order mark': '\ufeff{}',
  'something behind it': '{} {}',
  'a comma too many': '{"amount":"1",}',
  'single quotes': "{'amount':'1'}",
  'no number of JSON': '{"amount":NaN}',
  '5000 fields': JSON.stringify(Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`f${at}`, 1]))),
  'nesting without end': `${'{"a":'.repeat(500)}1${'}'.repeat(500)}`,
  'nesting without end in lists': `{"data":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
};

export const MEDIA_TYPES = [
  'text/plain',
  'application/xml',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/json garbage',
  'application/json;x',
  'application/json; charset = utf-8',
  'application/json; charset=utf-8; charset=utf-16',
  'application/json; charset=utf-16',
  'application/jsonx',
  'text/json',
];

/** Values for a field of any type, without those of its type. */
export const WRONG_VALUES: Readonly<Record<string, unknown>> = {
  null: null,
  'an empty text': '',
  'a text with a NUL': 'a\0b',
  'a text of two lines': 'x\r\nSet-Cookie: a',
  'a text of 5000 characters': 'x'.repeat(5_000),
  'a text that turns its direction': '\u202eevil',
  'a text with an invisible character': 'a\u200bb',
  'a text with a private-use character': 'a\u{f0000}b',
  'half a character': 'a\ud83d',
  'a number': 1,
  'a number below zero': -1,
  'half a number': 1.5,
  'a number beyond 2^53': 2 ** 53,
  'a list': [],
  'a list of one': ['100'],
  'an object': {},
  'an object that says what it is': { $ne: null },
  'true as a word': 'true',
  true: true,
};

export const isRight = (name: string, type: string | undefined, isRequired: boolean) =>
  (name === 'true' && type === 'boolean') ||
  (name === 'a number' && type === 'integer') ||
  (name === 'true as a word' && type === 'string') ||
  (name === 'a list' && type === 'array') ||
  // An optional object may be empty. A required object may not.
  (name === 'an object' && type === 'object' && !isRequired);

export const KEYS = ['', 'two words', 'é', 'x'.repeat(256), 'tab\tbed'];
