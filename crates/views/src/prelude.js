// What functions of a view see of the world: nothing that differs between two replicas or two runs, and nothing that
// they could change for the next document.
(function (global) {
  "use strict";
  const stringify = JSON.stringify;
  const parse = JSON.parse;
  const Given = Date;
  const timeless = "a view has no clock: new Date takes a time here";

  function Dated(...parts) {
    if (!new.target || parts.length === 0) throw new TypeError(timeless);
    return Reflect.construct(Given, parts, new.target);
  }
  Dated.prototype = Given.prototype;
  Dated.parse = Given.parse;
  Dated.UTC = Given.UTC;
  Given.prototype.constructor = Dated;
  global.Date = Dated;
  delete Math.random;

  let rows = [];
  let isFull = false;
  global.emit = (key, value) => {
    if (rows.length >= 2 * ROWS_MAX) {
      isFull = true;
      throw new RangeError("more rows emitted than " + ROWS_MAX);
    }
    rows.push(key === undefined ? null : key, value === undefined ? null : value);
  };
  global.sum = (values) => values.reduce((all, value) => all + value, 0);
  global.isArray = Array.isArray;
  global.toJSON = (value) => stringify(value);
  // Nobody reads it.
  global.log = () => {};

  // Makes the function anew: what a call keeps is gone with it.
  let make = null;
  global[SET] = (factory) => {
    make = factory;
    delete global[SET];
    freeze(global);
  };
  global[MAP] = (doc, meta) => {
    rows = [];
    isFull = false;
    make()(doc, meta);
    if (isFull) throw new RangeError("more rows emitted than " + ROWS_MAX);
    const text = stringify(rows);
    rows = [];
    return text;
  };
  global[REDUCE] = (keys, values, rereduce) => {
    const reduced = make()(parse(keys), parse(values), rereduce);
    rows = [];
    return stringify(reduced === undefined ? null : reduced);
  };

  // A property of a frozen prototype could not be given to what inherits from it: a document has a word "constructor".
  const loosen = (prototype) => {
    for (const name of Reflect.ownKeys(prototype)) {
      const own = Object.getOwnPropertyDescriptor(prototype, name);
      if (!own.configurable || !own.writable) continue;
      const value = own.value;
      const set = function (given) {
        if (this === prototype) throw new TypeError(String(name) + " cannot be changed here");
        Object.defineProperty(this, name, { value: given, writable: true, enumerable: true, configurable: true });
      };
      Object.defineProperty(prototype, name, { get: () => value, set, enumerable: own.enumerable });
    }
  };
  const errors = [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError];
  for (const of of [Object, ...errors]) loosen(of.prototype);

  const isObject = (value) => typeof value === "function" || (typeof value === "object" && value !== null);
  // Of all that can be reached; what no name leads to is given beside.
  function freeze(...roots) {
    const seen = new Set();
    const left = roots.concat(
      [][Symbol.iterator](), ""[Symbol.iterator](), new Map().entries(), new Set().entries(), "".matchAll(/x/g),
      function* () {}, async function () {}, async function* () {}, function () { return arguments; }()
    );
    while (left.length > 0) {
      const value = left.pop();
      if (!isObject(value) || seen.has(value)) continue;
      seen.add(value);
      left.push(Reflect.getPrototypeOf(value));
      for (const name of Reflect.ownKeys(value)) {
        const own = Reflect.getOwnPropertyDescriptor(value, name);
        left.push(own.value, own.get, own.set);
      }
      Object.freeze(value);
    }
  }
})(globalThis);
