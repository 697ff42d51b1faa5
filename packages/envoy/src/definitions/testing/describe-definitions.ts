import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import protobuf from 'protobufjs';
import descriptor from 'protobufjs/ext/descriptor.js';

const GOOGLE = ['duration', 'struct', 'timestamp', 'wrappers'].map((name) => `google/protobuf/${name}.proto`);
/** The number of a type in descriptor.proto is its place here; `group` is not in use any more. */
const TYPES = ['', 'double', 'float', 'int64', 'uint64', 'int32', 'fixed64', 'fixed32', 'bool', 'string', 'group'];
TYPES.push('message', 'bytes', 'uint32', 'enum');
const TYPE_MESSAGE = TYPES.indexOf('message');
const TYPE_ENUM = TYPES.indexOf('enum');

/**
 * The descriptors of all .proto files of a folder, whose name ends with a slash, as gRPC reflection sends them: by file
 * name, encoded. protobufjs can write descriptors too, but without imports, with relative names, and with names of map
 * entries that other libraries refuse.
 */
export function describeDefinitions(folder: string): Map<string, Buffer> {
  const files = readdirSync(folder).filter((name) => name.endsWith('.proto'));
  const root = new protobuf.Root();
  root.resolvePath = (_, target) => (target.startsWith('google/') ? target : `${folder}${basename(target)}`);
  root.loadSync(files, { keepCase: true });
  root.resolveAll();
  const described = new Map<string, Buffer>();
  for (const name of GOOGLE) {
    const { google } = (protobuf.common.get(name) as protobuf.INamespace).nested as unknown as {
      google: { nested: { protobuf: { nested: object } } };
    };
    const kept = Object.keys(google.nested.protobuf.nested);
    described.set(
      name,
      encode(
        name,
        'google.protobuf',
        [],
        objectsOf(root, 'google.protobuf', (each) => kept.includes(each.name)),
      ),
    );
  }
  for (const name of files.sort()) {
    const path = `${folder}${name}`;
    const parsed = protobuf.parse(readFileSync(path, 'utf8'), new protobuf.Root(), { keepCase: true });
    const package_ = parsed.package as string;
    const objects = objectsOf(root, package_, ({ filename }) => filename === path);
    described.set(name, encode(name, package_, [...(parsed.imports ?? [])], objects));
  }
  return described;
}

function objectsOf(
  root: protobuf.Root,
  package_: string,
  isWanted: (object: protobuf.ReflectionObject) => boolean,
): protobuf.ReflectionObject[] {
  return (root.lookup(package_) as protobuf.Namespace).nestedArray.filter(isWanted);
}

function encode(
  name: string,
  package_: string,
  dependency: readonly string[],
  objects: readonly protobuf.ReflectionObject[],
): Buffer {
  const file = {
    name,
    package: package_,
    dependency,
    messageType: objects
      .filter((each) => each instanceof protobuf.Type)
      .map((each) => messageOf(each as protobuf.Type)),
    enumType: objects.filter((each) => each instanceof protobuf.Enum).map((each) => enumOf(each as protobuf.Enum)),
    service: objects
      .filter((each) => each instanceof protobuf.Service)
      .map((each) => serviceOf(each as protobuf.Service)),
    syntax: 'proto3',
  };
  const type = descriptor.FileDescriptorProto as unknown as protobuf.Type;
  return Buffer.from(type.encode(type.fromObject(file)).finish());
}

type Plain = Record<string, unknown>;

function messageOf(type: protobuf.Type): Plain {
  const maps = type.fieldsArray.filter((field) => field instanceof protobuf.MapField) as protobuf.MapField[];
  return {
    name: type.name,
    field: type.fieldsArray.map((field) => fieldOf(type, field)),
    nestedType: [
      ...type.nestedArray
        .filter((each) => each instanceof protobuf.Type)
        .map((each) => messageOf(each as protobuf.Type)),
      ...maps.map((map) => entryOf(map)),
    ],
    enumType: type.nestedArray
      .filter((each) => each instanceof protobuf.Enum)
      .map((each) => enumOf(each as protobuf.Enum)),
    oneofDecl: type.oneofsArray.map(({ name }) => ({ name })),
  };
}

function fieldOf(type: protobuf.Type, field: protobuf.Field): Plain {
  const isMap = field instanceof protobuf.MapField;
  return {
    name: field.name,
    number: field.id,
    label: field.repeated || isMap ? 3 : 1,
    jsonName: camelOf(field.name),
    ...(isMap ? { type: TYPE_MESSAGE, typeName: `${type.fullName}.${entryName(field)}` } : typeOf(field.type, field)),
    ...(field.partOf && { oneofIndex: type.oneofsArray.indexOf(field.partOf) }),
  };
}

function entryOf(map: protobuf.MapField): Plain {
  return {
    name: entryName(map),
    field: [
      { name: 'key', number: 1, label: 1, jsonName: 'key', ...typeOf(map.keyType, undefined) },
      { name: 'value', number: 2, label: 1, jsonName: 'value', ...typeOf(map.type, map) },
    ],
    options: { mapEntry: true },
  };
}

function typeOf(name: string, field: Pick<protobuf.Field, 'resolvedType'> | undefined): Plain {
  const { resolvedType } = field ?? {};
  if (resolvedType instanceof protobuf.Enum) return { type: TYPE_ENUM, typeName: resolvedType.fullName };
  if (resolvedType instanceof protobuf.Type) return { type: TYPE_MESSAGE, typeName: resolvedType.fullName };
  const type = TYPES.indexOf(name);
  if (type === -1) throw new Error(`a field of type ${name}`);
  return { type };
}

function enumOf({ name, values }: protobuf.Enum): Plain {
  return { name, value: Object.entries(values).map(([key, number]) => ({ name: key, number })) };
}

function serviceOf({ name, methodsArray }: protobuf.Service): Plain {
  return {
    name,
    method: methodsArray.map((method) => ({
      name: method.name,
      inputType: method.resolvedRequestType?.fullName,
      outputType: method.resolvedResponseType?.fullName,
      clientStreaming: method.requestStream === true,
      serverStreaming: method.responseStream === true,
    })),
  };
}

function entryName({ name }: protobuf.ReflectionObject): string {
  const camel = camelOf(name);
  return `${camel[0].toUpperCase()}${camel.slice(1)}Entry`;
}

function camelOf(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** The module that the door serves reflection from. */
export function printDescriptors(folder: string): string {
  const lines = [...describeDefinitions(folder)].map(([name, bytes]) => {
    const chunks = bytes.toString('base64').match(/.{1,100}/g) ?? [];
    const text = chunks.map((chunk, index) => `${index === 0 ? '    ' : '      '}'${chunk}'`).join(' +\n');
    return `  [\n    '${name}',\n${text},\n  ],\n`;
  });
  return `/**
 * Made by \`npm run generate\` from the .proto files of this folder: their descriptors, in base64, for gRPC reflection.
 * A test makes them again and compares.
 */
export const descriptors: ReadonlyMap<string, string> = new Map([
${lines.join('')}]);
`;
}
