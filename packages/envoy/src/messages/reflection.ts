import { ProtoReader, ProtoWriter } from '@quotadb/wire';
import { readFields, readText, takeBytes } from './text.js';

/** What a client of reflection asks for; versions v1 and v1alpha have the same messages. */
export interface ReflectionRequest {
  readonly host: string;
  readonly question: 'file' | 'symbol' | 'services' | 'other';
  readonly name: string;
  /** The request as it came, which the answer repeats. */
  readonly bytes: Uint8Array;
}

const MAXIMUM_NAME_BYTES = 1024;
const QUESTIONS: Readonly<Record<number, ReflectionRequest['question']>> = { 3: 'file', 4: 'symbol', 7: 'services' };

export function decodeReflectionRequest(bytes: Uint8Array): ReflectionRequest {
  const reader = new ProtoReader(bytes);
  let host = '';
  let question: ReflectionRequest['question'] = 'other';
  let name = '';
  readFields(reader, (field) => {
    if (field === 1) host = readText(reader, MAXIMUM_NAME_BYTES);
    else if (QUESTIONS[field] === undefined) return false;
    else {
      question = QUESTIONS[field];
      name = readText(reader, MAXIMUM_NAME_BYTES);
    }
    return true;
  });
  return { host, question, name, bytes };
}

export type ReflectionAnswer =
  | { readonly files: readonly Uint8Array[] }
  | { readonly services: readonly string[] }
  | { readonly code: number; readonly error: string };

export function encodeReflectionResponse({ host, bytes }: ReflectionRequest, answer: ReflectionAnswer): Buffer {
  const writer = new ProtoWriter();
  writer.textField(1, host);
  writer.bytesField(2, bytes);
  const start = writer.begin('files' in answer ? 4 : 'services' in answer ? 6 : 7);
  if ('files' in answer) for (const file of answer.files) writer.bytesField(1, file);
  else if ('services' in answer) {
    for (const service of answer.services) {
      const entry = writer.begin(1);
      writer.textField(1, service);
      writer.end(entry);
    }
  } else {
    writer.uint53Field(1, answer.code);
    writer.textField(2, answer.error);
  }
  writer.end(start);
  return takeBytes(writer);
}
