// Reads `{"schema", "messages"}` from standard input, and prints what the XML Schema refuses in each message: the empty text for a valid one.
// In a process of its own, because the library is an ECMAScript module that waits while it is loaded.
import { readFileSync } from 'node:fs';
import { XmlDocument, XsdValidator } from 'libxml2-wasm';

const { schema, messages } = JSON.parse(readFileSync(0, 'utf8'));
const validator = XsdValidator.fromDoc(XmlDocument.fromString(schema));

function mistakeOf(message) {
  try {
    validator.validate(XmlDocument.fromString(message));
    return '';
  } catch (error) {
    return error.message;
  }
}

console.log(JSON.stringify(messages.map(mistakeOf)));
