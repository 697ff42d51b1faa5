import type { Words } from './words.js';

/** Scripts whose replies are texts that C has cut or trimmed, and chunks that a script makes while it runs. */

const SOURCES: readonly string[] = [
  "return {err='a line\\r\\n'}",
  "return {err='no\\0more'}",
  "return {ok='no\\0more'}",
  "return redis.error_reply('My\\0Err')",
  "return redis.error_reply('My Err\\0more').err",
  "return redis.status_reply('fine\\0more')",
  "error('no\\0more')",
  "error({err='NO\\0 more'})",
  "return redis.log(-0.5,'y')",
  "return redis.log(0/0,'y')",
  'redis.setresp(3.9) return true',
  'return next()',
  'table.sort(math)',
  'loadstring(\'error("boom")\')()',
  "loadstring('\\n\\nnosuch()','@named')()",
  "loadstring('nosuch()','a name '..('y'):rep(100))()",
  "return {load(function() error('late') end)}",
  'return {load(function() return {} end)}',
  "local n=0 return load(function() n=n+1 return ({'return ',7})[n] end)()",
];

export const textCases: readonly Words[] = SOURCES.map((source) => ['EVAL', source, '0']);
