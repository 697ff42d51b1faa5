import { GrpcStatus } from '@quotadb/replication/grpc';
import { ProtoReader } from '@quotadb/wire';
import { descriptors } from '../definitions/descriptors.js';
import type { LastingMethod, Methods } from '../door/method.js';
import {
  decodeReflectionRequest,
  encodeReflectionResponse,
  type ReflectionAnswer,
  type ReflectionRequest,
} from '../messages/reflection.js';

const files: ReadonlyMap<string, Buffer> = new Map(
  [...descriptors].map(([name, text]) => [name, Buffer.from(text, 'base64')]),
);

/** gRPC reflection, for tools such as grpcurl: what can be called here, and with which messages. */
export function reflectionMethods(services: readonly string[]): Methods {
  const method: LastingMethod = {
    kind: 'lasting',
    isOpen: false,
    open: (replies) => ({
      message: (bytes) => {
        const request = decodeReflectionRequest(bytes);
        replies.send(encodeReflectionResponse(request, answerTo(request, services)));
      },
      ended: () => replies.end(),
      closed: () => {},
    }),
  };
  return new Map(
    ['v1', 'v1alpha'].map((version) => [`/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`, method]),
  );
}

function answerTo({ question, name }: ReflectionRequest, services: readonly string[]): ReflectionAnswer {
  if (question === 'services') return { services };
  const found = question === 'file' ? files.get(name) : question === 'symbol' ? fileOfSymbol(name) : undefined;
  if (found !== undefined) return { files: withImports(found) };
  if (question === 'other') return { code: GrpcStatus.unimplemented, error: 'there are no extensions here' };
  return { code: GrpcStatus.notFound, error: `there is no ${question} '${name}'` };
}

/** A file, and those that it needs, each once. */
function withImports(file: Buffer): readonly Buffer[] {
  const all = new Set([file]);
  for (const each of all)
    for (const name of textsOf(each, [3])) {
      const imported = files.get(name);
      if (imported !== undefined) all.add(imported);
    }
  return [...all];
}

/** `package.Service`, `package.Service.Method`, `package.Message` and the messages inside it. */
function fileOfSymbol(symbol: string): Buffer | undefined {
  for (const file of files.values()) {
    const [packageName = ''] = textsOf(file, [2]);
    const declared = [4, 5, 6].flatMap((field) => textsOf(file, [field, 1]));
    if (declared.some((name) => `${symbol}.`.startsWith(`${packageName}.${name}.`))) return file;
  }
  return undefined;
}

/** The texts at a path of field numbers in a descriptor. */
function textsOf(bytes: Uint8Array, [field, ...rest]: readonly number[]): readonly string[] {
  const reader = new ProtoReader(bytes);
  const found: string[] = [];
  while (reader.next()) {
    if (reader.field !== field) {
      reader.skip();
      continue;
    }
    const value = reader.bytesValue();
    if (rest.length === 0) found.push(Buffer.from(value).toString());
    else found.push(...textsOf(value, rest));
  }
  return found;
}
