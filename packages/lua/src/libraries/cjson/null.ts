/** `cjson.null`: what JSON's null is decoded to, since nil cannot be in a table. Lua has a light userdata here. */
export const JSON_NULL = Symbol('null');
