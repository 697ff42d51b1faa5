import { power } from '../values/arithmetic.js';
import { raise, raiseArgument } from '../values/raise.js';
import { type LuaFunction, type Value, Values } from '../values/value.js';
import { intArgument, numberArgument } from './arguments.js';
import type { RedisRandom } from './random.js';

function ofOne(compute: (x: number) => number): LuaFunction {
  return (...list) => compute(numberArgument(list, 1));
}

function ofTwo(compute: (x: number, y: number) => number): LuaFunction {
  return (...list) => {
    // Redis's compiler evaluates the arguments of a C function from the right, and errors show it.
    const y = numberArgument(list, 2);
    return compute(numberArgument(list, 1), y);
  };
}

function extreme(isBetter: (candidate: number, best: number) => boolean): LuaFunction {
  return (...list) => {
    let best = numberArgument(list, 1);
    for (let place = 2; place <= list.length; place++) {
      const candidate = numberArgument(list, place);
      if (isBetter(candidate, best)) best = candidate;
    }
    return best;
  };
}

/** lmathlib.c. `random` draws the numbers that Redis draws, from the same seed. */
export function mathFunctions(random: RedisRandom): Record<string, Value> {
  return {
    abs: ofOne(Math.abs),
    acos: ofOne(Math.acos),
    asin: ofOne(Math.asin),
    atan: ofOne(Math.atan),
    atan2: ofTwo(Math.atan2),
    ceil: ofOne(Math.ceil),
    cos: ofOne(Math.cos),
    cosh: ofOne(Math.cosh),
    deg: ofOne((x) => x / (Math.PI / 180)),
    exp: ofOne(Math.exp),
    floor: ofOne(Math.floor),
    fmod: ofTwo((x, y) => x % y),
    frexp: (...list) => new Values(frexp(numberArgument(list, 1))),
    huge: Number.POSITIVE_INFINITY,
    ldexp(...list) {
      const exponent = intArgument(list, 2);
      return ldexp(numberArgument(list, 1), exponent);
    },
    log: ofOne(Math.log),
    log10: ofOne(Math.log10),
    max: extreme((candidate, best) => candidate > best),
    min: extreme((candidate, best) => candidate < best),
    mod: ofTwo((x, y) => x % y),
    modf: (...list) => new Values(modf(numberArgument(list, 1))),
    pi: Math.PI,
    pow: ofTwo(power),
    rad: ofOne((x) => x * (Math.PI / 180)),
    random(...list) {
      if (list.length > 2) return raise('wrong number of arguments');
      const drawn = random.fraction();
      if (list.length === 0) return drawn;
      const low = list.length === 1 ? 1 : intArgument(list, 1);
      const high = intArgument(list, list.length === 1 ? 1 : 2);
      if (low > high) return raiseArgument(list.length, 'interval is empty');
      return Math.floor(drawn * (high - low + 1)) + low;
    },
    randomseed(...list) {
      random.seed(intArgument(list, 1));
      return new Values([]);
    },
    sin: ofOne(Math.sin),
    sinh: ofOne(Math.sinh),
    sqrt: ofOne(Math.sqrt),
    tan: ofOne(Math.tan),
    tanh: ofOne(Math.tanh),
  };
}

/** The mantissa between a half and 1, and the exponent. */
function frexp(value: number): [number, number] {
  if (value === 0 || !Number.isFinite(value)) return [value, 0];
  let exponent = Math.max(-1023, Math.floor(Math.log2(Math.abs(value))) + 1);
  let mantissa = ldexp(value, -exponent);
  while (Math.abs(mantissa) < 0.5) {
    mantissa *= 2;
    exponent--;
  }
  while (Math.abs(mantissa) >= 1) {
    mantissa /= 2;
    exponent++;
  }
  return [mantissa, exponent];
}

/** In two steps, since 2^exponent alone may be beyond a double. */
function ldexp(value: number, exponent: number): number {
  const bounded = Math.max(-2200, Math.min(2200, exponent));
  const half = Math.trunc(bounded / 2);
  return value * 2 ** half * 2 ** (bounded - half);
}

function modf(value: number): [number, number] {
  if (!Number.isFinite(value)) return [value, Number.isNaN(value) ? value : 0];
  const whole = Math.trunc(value);
  return [whole, value - whole];
}
